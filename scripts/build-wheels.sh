#!/usr/bin/env bash
# Builds the wheel: the Python package with the program soma in it, for every Python from 3.10 on
# (abi3). On Linux Zig is the linker, so that the wheel runs on any system with glibc 2.17 or newer
# (manylinux2014), without a container. The same commit gives the same bytes on the same machine.
# Usage: scripts/build-wheels.sh [FOLDER]   (target/wheels if not given)
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-target/wheels}
tools=${SOMA_WHEEL_TOOLS:-$PWD/target/wheel-tools}
if [ ! -d "$tools" ]; then
  "${PYTHON:-python3}" -m venv "$tools"
  bin=$tools/bin
  [ -d "$bin" ] || bin=$tools/Scripts
  "$bin/python" -m pip --quiet --disable-pip-version-check install "maturin==1.16.*" "ziglang==0.15.*"
fi
bin=$tools/bin
[ -d "$bin" ] || bin=$tools/Scripts

# Times in archives are those of the commit, and no path of this machine is in the program.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS=${RUSTFLAGS---remap-path-prefix=$PWD=soma --remap-path-prefix=$cargo_home=cargo}

options=(--release --locked --strip --out "$out")
if [ "$(uname -s)" = Linux ]; then
  options+=(--zig --compatibility manylinux2014)
  export PATH=$bin:$PATH
fi
"$bin/maturin" build "${options[@]}"
ls -l "$out"/*.whl
