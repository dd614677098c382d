#!/usr/bin/env bash
# All tests, and the installation of what they need.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-test-needs.sh
cargo test --release --workspace
SOMA_PROGRAM=$PWD/target/release/soma scripts/test-python.sh --quiet
scripts/build-book.sh
"${PYTHON:-python3}" scripts/look_at_book.py
