#!/bin/sh
# Installs a Chromium for the browser tests unless there is one: Debian's package as root, else Playwright's download.
# Prefers Chromium without windows, which needs less CPU time.
# usage: install.sh [PYTHON]. Without PYTHON, which has Playwright, only the package is installed, and its lack is no error.
set -u
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null 2>&1
  for name in chromium-headless-shell chromium; do
    apt-get install -y -q --no-install-recommends "$name" >/dev/null 2>&1
    command -v "$name" >/dev/null 2>&1 && exit 0
  done
fi
[ $# = 0 ] && exit 0
"$1" -m playwright install chromium >/dev/null 2>&1 && exit 0
echo "No Chromium: install the package chromium, or let Playwright download one (python -m playwright install chromium)." >&2
exit 1
