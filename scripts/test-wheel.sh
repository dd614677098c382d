#!/usr/bin/env bash
# Installs a wheel into a fresh environment of every Python that is there and runs the README's
# commands from it, without Rust on the PATH. The release of a million records is left out: it
# takes minutes.
# Usage: scripts/test-wheel.sh WHEEL
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" scripts/test_wheel.py "${1:?usage: scripts/test-wheel.sh WHEEL}"
