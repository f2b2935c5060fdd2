#!/bin/sh
# Sees to a Chromium for the browser tests: the system's, else Debian's package when root, else Playwright's download.
# usage: install.sh PYTHON
set -u
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium; } >/dev/null 2>&1
  command -v chromium >/dev/null 2>&1 && exit 0
fi
"$1" -m playwright install chromium >/dev/null 2>&1 && exit 0
echo "No Chromium: install the package chromium, or let Playwright download one (python -m playwright install chromium)." >&2
exit 1
