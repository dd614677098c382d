#!/usr/bin/env bash
# Publishes the crates that users need on crates.io, each after those that it depends on. A crate can hold
# only what is in its own folder, so the files that it shares with the book and the examples are copied into
# it first, in a copy of the repository.
# Usage: scripts/publish-crates.sh            (needs CARGO_REGISTRY_TOKEN)
#        scripts/publish-crates.sh --check    (packs the crates and publishes nothing)
set -euo pipefail
cd "$(dirname "$0")/.."

crates=(soma-mcmc-language soma-mcmc soma-mcmc-store soma-mcmc-report soma-mcmc-cli)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
cd "$copy"
mkdir crates/soma-cli/shipped
cp examples/*.toml examples/shipped.rs crates/soma-cli/shipped/
cp docs/own-model.md crates/soma/own-model.md
sed -i.bak 's#\.\./\.\./\.\./examples/#../shipped/#' crates/soma-cli/src/examples.rs
sed -i.bak 's#\.\./\.\./\.\./docs/own-model.md#../own-model.md#' crates/soma/src/lib.rs
find crates -name '*.bak' -delete
if grep -rn '\.\./\.\./\.\./' crates/{soma,soma-language,soma-store,soma-report,soma-cli}/src; then
  echo "a crate refers to a file outside of its folder" >&2
  exit 1
fi

if [ "${1:-}" = --check ]; then
  packages=()
  for crate in "${crates[@]}"; do packages+=(-p "$crate"); done
  cargo package --locked --no-verify --allow-dirty --quiet "${packages[@]}"
  ls -l "${CARGO_TARGET_DIR:-target}"/package/*.crate
  exit 0
fi
for crate in "${crates[@]}"; do
  cargo publish --locked --allow-dirty -p "$crate"
done
