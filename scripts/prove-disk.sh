#!/usr/bin/env bash
# What the store is proved by, at full size: 1,000 kills, 2,000 damaged folders, and 5,000 crafted
# checkpoints, manifests and files of draws each. The default tests run the same at a small size.
set -euo pipefail
cd "$(dirname "$0")/.."

# A disk in memory, where there is one: a kill is no power cut, and syncing would take most of the
# time.
[ -d /dev/shm ] && export TMPDIR=/dev/shm

SOMA_KILLS=${SOMA_KILLS:-1000} \
    cargo test --release -p soma-mcmc-cli --test resume kills_at_random -- --nocapture
SOMA_DAMAGED=${SOMA_DAMAGED:-2000} \
    cargo test --release -p soma-mcmc-store --test damage damage_is_never_silent -- --nocapture
SOMA_CRAFTED=${SOMA_CRAFTED:-5000} \
    cargo test --release -p soma-mcmc-store --test crafted -- --nocapture
