#!/usr/bin/env bash
# Fuzzes the readers of specs, manifests, checkpoints and draws, each for so many seconds, under
# AddressSanitizer. Installs cargo-fuzz if it is missing. The stable compiler is enough: the
# instrumentation is asked for by RUSTC_BOOTSTRAP.
# Usage: scripts/fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
targets=("${@:-}")
[ -n "${targets[0]}" ] || targets=(spec manifest checkpoint draws)
cargo fuzz --version > /dev/null 2>&1 || cargo install cargo-fuzz --locked
cargo run --release --manifest-path fuzz/Cargo.toml --example seeds
export RUSTC_BOOTSTRAP=1
for target in "${targets[@]}"; do
    cargo fuzz run "$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536
done
