#!/usr/bin/env bash
# What the store and the readers are proved by, at full size: 1,000 kills, 2,000 damaged folders, 5,000
# crafted checkpoints, manifests and files of draws each, 100,000 mangled specs (another 5,000 are run, if they are accepted)
# and 100,000 mangled texts of models. The default tests run the same at a small size.
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
export SOMA_MANGLED=${SOMA_MANGLED:-100000}
cargo test --release -p soma-mcmc-cli --test mangled -- --nocapture
cargo test --release -p soma-mcmc-language --test mistakes mangled -- --nocapture
