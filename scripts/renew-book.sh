#!/usr/bin/env bash
# Runs the code blocks of pages of the book (and of the README) and the cells of notebooks, and
# rewrites the outputs in place. All of them if none is named. Read the diff before you commit it.
# Usage: scripts/renew-book.sh [docs/PAGE.md | examples/NOTEBOOK.ipynb ...]
#        scripts/renew-book.sh --figures     draws docs/figures/problem.svg and release-*.svg, and prints the
#                                            figures that the pages name beside them
# PYTHON names an interpreter that has the package and the group `test` of pyproject.toml, and
# SOMA_PROGRAM the program `soma`; without them they are built as scripts/test-python.sh does.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${PYTHON:-}" ]; then
  echo "building the program and the Python package; set PYTHON and SOMA_PROGRAM to use others" >&2
  scripts/test-python.sh --collect-only --quiet >/dev/null
  PYTHON=$(ls -d "$PWD"/target/python/*/bin/python | head -n 1)
fi
export SOMA_PROGRAM=${SOMA_PROGRAM:-$PWD/target/release/soma}
if [ "${1:-}" = --figures ]; then
  "$PYTHON" scripts/figures/problem.py
  exec "$PYTHON" scripts/figures/releases.py
fi
exec "$PYTHON" scripts/book.py renew "$@"
