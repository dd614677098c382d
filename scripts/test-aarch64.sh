#!/usr/bin/env bash
# Cross-compiles the library's tests for aarch64 and runs them under qemu. Filters of tests are
# arguments; without any: vector code, numerics, records and kernels.
#
# Needs a Rust with the target aarch64-unknown-linux-gnu, a linker and an emulator:
#   rustup target add aarch64-unknown-linux-gnu
#   apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
# Without rustup, Debian has all of it from forky on (Rust 1.97), also in a directory of its own:
#   debootstrap --variant=minbase forky ROOT && chroot ROOT
#   dpkg --add-architecture arm64 && apt-get update && apt-get install rustc cargo \
#     libstd-rust-dev:arm64 gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"

if [ $# -eq 0 ]; then
    set -- simd:: numeric:: records:: kernel::
fi
cargo test --release --target aarch64-unknown-linux-gnu -p soma-mcmc --lib -- "$@"
