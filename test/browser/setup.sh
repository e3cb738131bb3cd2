#!/usr/bin/env bash
# setup.sh DIR: a browser from Debian, and into DIR what drives it and looks for faults in pages (playwright-core, axe-core, yaml, ajv).
# Nothing of it is shipped.
set -euo pipefail
dir=$1
need=()
command -v chromium >/dev/null || need+=(chromium)
command -v node >/dev/null || need+=(nodejs)
command -v npm >/dev/null || need+=(npm)
if [ ${#need[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi
mkdir -p "$dir"
[ -d "$dir/node_modules/playwright-core" ] && [ -d "$dir/node_modules/ajv" ] && exit 0
cd "$dir"
[ -f package.json ] || echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts playwright-core@1 axe-core@4 yaml@2 ajv@8 2>/dev/null
