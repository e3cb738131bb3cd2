#!/usr/bin/env bash
# A real Kubernetes control plane on loopback, for end-to-end tests.
#
#   rig.sh up DIR        start; prints "KUBECONFIG=..." lines; DIR must be empty or absent
#   rig.sh down DIR      stop every process that `up` recorded in DIR (by pid), keep the logs
#   rig.sh status DIR    one line per process: name, pid, state, RSS in KiB, CPU seconds
#   rig.sh env DIR       print the lines of `up` again
#   rig.sh kill DIR NAME      kill -9 one process; `restart` brings it back
#   rig.sh restart DIR NAME   kill -9 one process (kube-apiserver, etcd, ...) and start it again as it was
#
# Environment
#   COPPICE_UPSTREAM     cache folder that build.sh filled (~/.cache/coppice/upstream)
#   RIG_OWNER_PID        when this process ends, the rig stops itself
#   RIG_TIMEOUT          seconds `up` may take (120)
#   RIG_SCHEDULER        1 (default) or 0: start kube-scheduler
#   RIG_CONTROLLERS      1 (default) or 0: start kube-controller-manager
#   RIG_KWOK             1 (default) or 0: start kwok
#   RIG_NODE_LIFECYCLE   0 (default) or 1: node-lifecycle and taint-eviction controllers, and not-ready taints on new nodes
#   RIG_APISERVER_FLAGS, RIG_CONTROLLER_FLAGS, RIG_SCHEDULER_FLAGS, RIG_ETCD_FLAGS   more flags, split at blanks
#   RIG_SCHEDULER_CONFIG a KubeSchedulerConfiguration file (clientConnection.kubeconfig may be left out)
#   RIG_COMPONENT_RBAC   manifest that grants the component user its rights (chart-rbac.yaml)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
verb=${1:-}; dir=${2:-}
[[ -n "$verb" && -n "$dir" ]] || { sed -n '2,23p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2; }

say() { echo "rig: $*" >&2; }
born() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{print $20}'; } # start time: tells a recycled pid
alive() { # name
  local pid start
  read -r pid start <"$dir/pids/$1" 2>/dev/null || return 1
  [[ -n "$start" && "$(born "$pid")" == "$start" ]]
}

launch() { # name command...
  local name=$1; shift
  printf '%q ' "$@" >"$dir/logs/$name.cmd"
  setsid "$@" </dev/null >"$dir/logs/$name.log" 2>&1 9>&- &
  local pid=$!
  echo "$pid $(born "$pid")" >"$dir/pids/$name"
  disown "$pid"
}

down() {
  local file name pid start left
  # Clients first, the store last. KILL straight away for etcd: its data is thrown away.
  for name in kwok kube-scheduler kube-controller-manager kube-apiserver etcd; do
    file="$dir/pids/$name"
    [[ -f "$file" ]] || continue
    read -r pid start <"$file"
    if alive "$name"; then
      if [[ "$name" == etcd || "$name" == kube-apiserver ]]; then kill -KILL "$pid" 2>/dev/null || true
      else kill -TERM "$pid" 2>/dev/null || true; fi
    fi
  done
  for ((left = 50; left > 0; left--)); do
    local any=0
    for file in "$dir"/pids/*; do [[ -f "$file" ]] && alive "$(basename "$file")" && any=1; done
    ((any)) || break
    sleep 0.1
  done
  for file in "$dir"/pids/*; do
    [[ -f "$file" ]] || continue
    name=$(basename "$file"); read -r pid start <"$file"
    alive "$name" && kill -KILL "$pid" 2>/dev/null || true
    rm -f "$file"
  done
  rm -rf "$dir/etcd"
}

# Polls a command every 50 ms until it succeeds; fails when a process died or time is up.
wait_for() { # what, processes that must live, command...
  local what=$1 need=$2 name; shift 2
  until "$@" >/dev/null 2>&1; do
    for name in $need; do
      alive "$name" || { say "$name ended while waiting for $what; last lines of its log:"; tail -n 15 "$dir/logs/$name.log" >&2; return 1; }
    done
    (($(date +%s) < deadline)) || { say "timeout waiting for $what"; return 1; }
    sleep 0.05
  done
}

start() {
  local etcd_port peer_port api_port controller_port scheduler_port kwok_port pki="$dir/pki"
  read -r etcd_port peer_port api_port controller_port scheduler_port kwok_port <<<"$("$bin/pki" ports 6)"
  local url="https://127.0.0.1:$api_port"

  launch etcd "$bin/etcd" --name=rig --data-dir="$dir/etcd" --unsafe-no-fsync --snapshot-count=1000000 --log-level=warn \
    --quota-backend-bytes=2147483648 \
    --listen-client-urls="http://127.0.0.1:$etcd_port" --advertise-client-urls="http://127.0.0.1:$etcd_port" \
    --listen-peer-urls="http://127.0.0.1:$peer_port" --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" \
    --initial-cluster="rig=http://127.0.0.1:$peer_port" ${RIG_ETCD_FLAGS:-}

  rm -rf "$pki"; "$bin/pki" ca "$pki"; "$bin/pki" sakey "$pki"
  "$bin/pki" leaf "$pki" apiserver kube-apiserver "" 127.0.0.1,localhost,kubernetes,kubernetes.default.svc
  "$bin/pki" leaf "$pki" admin rig-admin system:masters
  "$bin/pki" leaf "$pki" component coppice coppice
  "$bin/pki" leaf "$pki" controllers system:kube-controller-manager system:masters
  "$bin/pki" leaf "$pki" scheduler system:kube-scheduler ""
  "$bin/pki" leaf "$pki" kwok rig-kwok system:masters
  local user; for user in admin component controllers scheduler kwok; do "$bin/pki" kubeconfig "$pki" "$user" "$url"; done

  local off=() controllers=replicaset-controller,deployment-controller,job-controller,statefulset-controller,daemonset-controller
  controllers+=,namespace-controller,serviceaccount-controller,garbage-collector-controller,disruption-controller
  controllers+=,pod-garbage-collector-controller,persistentvolume-binder-controller,ephemeral-volume-controller,resourceclaim-controller
  if [[ "${RIG_NODE_LIFECYCLE:-0}" == 1 ]]; then controllers+=,node-lifecycle-controller,taint-eviction-controller
  else off=(--disable-admission-plugins=TaintNodesByCondition); fi

  launch kube-apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 \
    --secure-port="$api_port" --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=no-proxy-is-trusted --requestheader-username-headers=X-Remote-User \
    --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --service-account-issuer=https://rig.invalid --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --authorization-mode=Node,RBAC --anonymous-auth=false --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true \
    --storage-media-type=application/vnd.kubernetes.protobuf --shutdown-delay-duration=0s --event-ttl=24h "${off[@]}" ${RIG_APISERVER_FLAGS:-}
  wait_for "the API server" "etcd kube-apiserver" "$bin/kubectl" --kubeconfig "$pki/admin.kubeconfig" --request-timeout=2s get --raw /readyz || return 1
  local kubectl=("$bin/kubectl" --kubeconfig "$pki/admin.kubeconfig" --cache-dir "$dir/kubectl-cache")

  if [[ "${RIG_CONTROLLERS:-1}" == 1 ]]; then
    launch kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$pki/controllers.kubeconfig" \
      --authentication-kubeconfig="$pki/admin.kubeconfig" --authorization-kubeconfig="$pki/admin.kubeconfig" --client-ca-file="$pki/ca.crt" \
      --bind-address=127.0.0.1 --secure-port="$controller_port" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
      --authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics --leader-elect=false --use-service-account-credentials=false \
      --controllers="$controllers" --kube-api-qps=2000 --kube-api-burst=4000 \
      --concurrent-replicaset-syncs=20 --concurrent-deployment-syncs=20 --concurrent-gc-syncs=20 \
      --concurrent-namespace-syncs=20 ${RIG_CONTROLLER_FLAGS:-}
  fi
  if [[ "${RIG_SCHEDULER:-1}" == 1 ]]; then
    local config="$dir/scheduler.yaml"
    if [[ -n "${RIG_SCHEDULER_CONFIG:-}" ]]; then cp "$RIG_SCHEDULER_CONFIG" "$config"
    else printf 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n' >"$config"; fi
    grep -q '^leaderElection:' "$config" || printf 'leaderElection: {leaderElect: false}\n' >>"$config"
    grep -q '^clientConnection:' "$config" || printf 'clientConnection: {kubeconfig: "%s", qps: 2000, burst: 4000}\n' "$pki/scheduler.kubeconfig" >>"$config"
    launch kube-scheduler "$bin/kube-scheduler" --config="$config" \
      --authentication-kubeconfig="$pki/admin.kubeconfig" --authorization-kubeconfig="$pki/admin.kubeconfig" --client-ca-file="$pki/ca.crt" \
      --authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics \
      --bind-address=127.0.0.1 --secure-port="$scheduler_port" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" ${RIG_SCHEDULER_FLAGS:-}
  fi
  if [[ "${RIG_KWOK:-1}" == 1 ]]; then
    launch kwok "$bin/kwok" --kubeconfig="$pki/kwok.kubeconfig" --config="$here/stages.yaml" --manage-all-nodes=false \
      --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --node-ip=127.0.0.1 --cidr=10.0.0.0/8 \
      --server-address="127.0.0.1:$kwok_port" --node-lease-duration-seconds=40
  fi

  # The admission of namespaced objects needs the RBAC bootstrap roles and, for pods, the default service account.
  wait_for "the RBAC bootstrap" kube-apiserver "${kubectl[@]}" get clusterrole system:kube-scheduler system:kube-controller-manager || return 1
  wait_for "the component user's role" kube-apiserver "${kubectl[@]}" apply -f "${RIG_COMPONENT_RBAC:-$here/chart-rbac.yaml}" || return 1
  if [[ "${RIG_CONTROLLERS:-1}" == 1 ]]; then
    wait_for "the controllers" kube-controller-manager "$bin/kubectl" --kubeconfig "$pki/admin.kubeconfig" --server "https://127.0.0.1:$controller_port" get --raw /healthz || return 1
    wait_for "the default service account" kube-controller-manager "${kubectl[@]}" -n default get serviceaccount default || return 1
  else
    "${kubectl[@]}" -n default create serviceaccount default >/dev/null
  fi
  [[ "${RIG_SCHEDULER:-1}" != 1 ]] || wait_for "the scheduler" kube-scheduler "$bin/kubectl" --kubeconfig "$pki/admin.kubeconfig" --server "https://127.0.0.1:$scheduler_port" get --raw /readyz || return 1
  [[ "${RIG_KWOK:-1}" != 1 ]] || wait_for kwok kwok "$bin/kubectl" --server "http://127.0.0.1:$kwok_port" get --raw /healthz || return 1

  cat >"$dir/env" <<END
KUBECONFIG=$pki/admin.kubeconfig
RIG_COMPONENT_KUBECONFIG=$pki/component.kubeconfig
RIG_SERVER=$url
RIG_CA=$pki/ca.crt
RIG_ADMIN_CERT=$pki/admin.crt
RIG_ADMIN_KEY=$pki/admin.key
RIG_COMPONENT_CERT=$pki/component.crt
RIG_COMPONENT_KEY=$pki/component.key
RIG_KUBECTL=$bin/kubectl
RIG_ETCD=http://127.0.0.1:$etcd_port
RIG_CONTROLLER_MANAGER=https://127.0.0.1:$controller_port
RIG_SCHEDULER_SERVER=https://127.0.0.1:$scheduler_port
RIG_KWOK_SERVER=http://127.0.0.1:$kwok_port
RIG_LOGS=$dir/logs
END
}

case $verb in
  up)
    cache=${COPPICE_UPSTREAM:-$HOME/.cache/coppice/upstream}; bin=$(cd "$cache/bin" && pwd)
    mkdir -p "$dir"; dir=$(cd "$dir" && pwd)
    [[ ! -e "$dir/pids" ]] || { say "$dir is in use; run down first"; exit 1; }
    deadline=$(($(date +%s) + ${RIG_TIMEOUT:-120}))
    mkdir -p "$dir/pids" "$dir/logs"
    trap 'down; rm -rf "$dir/pids"; exit 130' INT TERM
    for attempt in 1 2 3; do # another process may take a port between choosing and listening
      start && break
      down
      if ((attempt == 3)) || ! grep -qls 'address already in use' "$dir"/logs/*.log; then rm -rf "$dir/pids"; exit 1; fi
      say "a port was taken; once more"
    done
    trap - INT TERM
    if [[ -n "${RIG_OWNER_PID:-}" ]]; then
      owner_born=$(born "$RIG_OWNER_PID")
      setsid bash -c 'while [[ "$(sed "s/.*) //" "/proc/$1/stat" 2>/dev/null | cut -d" " -f20)" == "$2" && -e "$4/pids/kube-apiserver" ]]; do sleep 0.5; done
        if [[ -e "$4/pids/kube-apiserver" ]]; then exec "$3" down "$4"; fi' \
        watchdog "$RIG_OWNER_PID" "$owner_born" "$here/rig.sh" "$dir" </dev/null >/dev/null 2>&1 &
      disown
    fi
    cat "$dir/env"
    ;;
  down)
    [[ -d "$dir" ]] || exit 0
    dir=$(cd "$dir" && pwd)
    down
    rm -rf "$dir/pids"
    ;;
  status)
    tick=$(getconf CLK_TCK)
    for file in "$dir"/pids/*; do
      [[ -f "$file" ]] || continue
      name=$(basename "$file"); read -r pid _ <"$file"
      if alive "$name"; then
        read -r user system <<<"$(sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12, $13}')"
        echo "$name $pid running $(awk '/^VmRSS/ {print $2}' "/proc/$pid/status") $(awk -v t="$((user + system))" -v h="$tick" 'BEGIN {printf "%.2f", t / h}')"
      else echo "$name $pid ended 0 0"; fi
    done
    ;;
  env) cat "$dir/env" ;;
  kill)
    name=${3:?which process}; dir=$(cd "$dir" && pwd)
    read -r pid start <"$dir/pids/$name"
    if alive "$name"; then kill -KILL "$pid"; fi
    while alive "$name"; do sleep 0.05; done
    ;;
  restart)
    name=${3:?which process}; dir=$(cd "$dir" && pwd)
    read -r pid start <"$dir/pids/$name"
    if alive "$name"; then kill -KILL "$pid"; fi
    while alive "$name"; do sleep 0.05; done
    eval "command=($(cat "$dir/logs/$name.cmd"))"
    mv "$dir/logs/$name.log" "$dir/logs/$name.$(date +%s).log"
    launch "$name" "${command[@]}"
    ;;
  *) say "unknown verb $verb"; exit 2 ;;
esac
