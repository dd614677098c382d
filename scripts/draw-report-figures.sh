#!/usr/bin/env bash
# Draws the figures of docs/report.md. SOMA_PROGRAM names the program `soma`.
set -euo pipefail
cd "$(dirname "$0")/.."
soma=${SOMA_PROGRAM:-target/release/soma}
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

"$soma" fit examples/category-counts.toml --quiet --out "$run/run" >"$run/table"
"$soma" plot "$run/run" density --columns 3 --out docs/figures/report-density.svg
"$soma" plot "$run/run" counts --out docs/figures/report-counts.svg
