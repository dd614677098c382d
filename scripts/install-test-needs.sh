#!/usr/bin/env bash
# Installs what some tests need beside Rust, where that is possible: Chromium, in which
# reports, the pages of the book and the page of the reproduced paper are opened. Where it cannot be installed, these
# tests are skipped and say so.
set -uo pipefail

for browser in chromium chromium-browser google-chrome; do
  if command -v "$browser" >/dev/null; then
    echo "browser for the page tests: $(command -v "$browser")"
    exit 0
  fi
done

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n)
fi
if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "installing chromium for the page tests"
  if { "${as_root[@]}" apt-get install -y --no-install-recommends chromium ||
    { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends chromium; }; } \
    >/dev/null 2>&1; then
    exit 0
  fi
fi
echo "Chromium could not be installed here: the tests that open a page in it will be skipped." >&2
