#!/usr/bin/env bash
# Fuzzes the readers of specs, manifests, checkpoints and draws, each for so many seconds, under
# AddressSanitizer. Needs a nightly compiler and cargo-fuzz (cargo install cargo-fuzz).
# Usage: scripts/fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
targets=("${@:-}")
[ -n "${targets[0]}" ] || targets=(spec manifest checkpoint draws)
cargo run --release --manifest-path fuzz/Cargo.toml --example seeds
for target in "${targets[@]}"; do
    cargo +nightly fuzz run "$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536
done
