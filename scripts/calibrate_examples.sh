#!/usr/bin/env bash
# Simulation-based calibration of every shipped model as text, at small n.
# Usage: scripts/calibrate_examples.sh [replications] [n]
set -euo pipefail
cd "$(dirname "$0")/.."
replications=${1:-1000}
n=${2:-10}
soma=${SOMA:-target/release/soma}
status=0
for spec in $(grep -l '^record = ' examples/*.toml); do
  echo "== $spec"
  "$soma" calibrate "$spec" --n "$n" --replications "$replications" --quiet || status=1
done
exit $status
