#!/usr/bin/env bash
# The tests of `soma release`, with OpenDP. Building OpenDP takes minutes of CPU time, so that CI does
# not run this by default. It needs perl, make and a C compiler, for OpenSSL.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --release -p soma-mcmc-cli --features curator --lib release::
cargo test --release -p soma-mcmc-cli --features curator --test attacked --test curator --test steward --test round_trip -- --nocapture "$@"
