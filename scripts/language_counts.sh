#!/usr/bin/env bash
# Instructions of models written as text against loops written by hand, by callgrind.
# Usage: scripts/language_counts.sh   (needs valgrind)
set -euo pipefail
cargo build --release -q -p soma-mcmc-language --example count
program="${CARGO_TARGET_DIR:-target}/release/examples/count"
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
printf '%-12s %-11s %14s %14s %7s\n' model work text hand ratio
for model in normal regression beta; do
    base_text=$(count $model text none)
    base_hand=$(count $model hand none)
    for work in propose ratios gradient statistics; do
        text=$(($(count $model text $work) - base_text))
        hand=$(($(count $model hand $work) - base_hand))
        awk -v m=$model -v w=$work -v t=$text -v h=$hand \
            'BEGIN { printf "%-12s %-11s %14d %14d %7.2f\n", m, w, t, h, t / h }'
    done
done
