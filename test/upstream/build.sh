#!/usr/bin/env bash
# Builds the real control plane that the end-to-end tests run against, from the
# Go module proxy, into a cache folder. Nothing is built that is already there
# in the wanted version.
#
#   ./build.sh [NAME...]        default: all
#   ./build.sh --where NAME     where it is put
#
# The cache is COPPICE_UPSTREAM, or ~/.cache/coppice/upstream. Prints one line per binary: name, "built" or "cached", seconds, bytes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${COPPICE_UPSTREAM:-$HOME/.cache/coppice/upstream}
go=${COPPICE_GO:-go}
mkdir -p "$cache/bin" "$cache/stamp"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/lock"
flock 9

kube_version=$(sed -n 's/^require k8s.io\/kubernetes v//p' "$here/kube/go.mod")
minor=${kube_version#*.}; minor=${minor%%.*}
stamp_flags=""
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  stamp_flags+=" -X $package.gitVersion=v$kube_version -X $package.gitMajor=1 -X $package.gitMinor=$minor -X $package.gitTreeState=clean"
done

# name, wrapper module, package, linker flags
build() {
  local name=$1 module=$2 package=$3 flags="-s -w $4" want start
  want=$({ cat "$here/$module/go.mod"; cat "$here/$module/"*.go; cat "$here/$module/go.sum" 2>/dev/null || true
           "$go" env GOVERSION GOARCH; echo "$package $flags"; } | sha256sum | cut -d' ' -f1)
  if [[ -x "$cache/bin/$name" && "$(cat "$cache/stamp/$name" 2>/dev/null)" == "$want" ]]; then
    echo "$name cached 0 $(stat -c %s "$cache/bin/$name")"
    return
  fi
  start=$(date +%s)
  (cd "$here/$module" && GOWORK=off "$go" build -mod=readonly -ldflags "$flags" -o "$cache/bin/$name.new" "$package")
  mv "$cache/bin/$name.new" "$cache/bin/$name"
  echo "$want" >"$cache/stamp/$name"
  echo "$name built $(($(date +%s) - start)) $(stat -c %s "$cache/bin/$name")"
}

if [[ ${1:-} == --where ]]; then echo "$cache/bin/$2"; exit; fi
all=(pki etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok)
for name in "${@:-${all[@]}}"; do
  case $name in
    pki) build pki pki . "" ;;
    grpc-client) build grpc-client grpc_client . "" ;;  # for test/interop; no part of the control plane
    etcd) build etcd etcd go.etcd.io/etcd/server/v3 "" ;;
    kwok) build kwok kwok sigs.k8s.io/kwok/cmd/kwok "" ;;
    kube-apiserver | kube-controller-manager | kube-scheduler | kubectl)
      build "$name" kube "k8s.io/kubernetes/cmd/$name" "$stamp_flags" ;;
    *) echo "unknown peer: $name" >&2; exit 2 ;;
  esac
done
