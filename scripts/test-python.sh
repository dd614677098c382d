#!/usr/bin/env bash
# Builds the Python package, installs it into a fresh virtual environment, and tests it from
# outside the source tree. PYTHON names the interpreter, and SOMA_PROGRAM the program if it is built
# already; further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-python3}
environment=$root/target/python/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# The tests compare draws with those of the program.
if [ -z "${SOMA_PROGRAM:-}" ]; then
  cargo build --release --workspace --quiet
fi
export SOMA_ROOT=$root SOMA_PROGRAM=${SOMA_PROGRAM:-$root/target/release/soma}

rm -rf "$environment"
"$python" -m venv "$environment"
pip() { "$environment/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip install --upgrade "pip>=25.1"
pip install "$root" --group "$root/pyproject.toml:test"

cd "$environment"
exec "$environment/bin/python" -m pytest -p no:cacheprovider "$root/crates/soma-python/tests" "$@"
