#!/usr/bin/env bash
# Builds the program and packs it with its manual pages, completions and licences.
# Usage: scripts/package-program.sh FOLDER PLATFORM
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: scripts/package-program.sh FOLDER PLATFORM}
platform=${2:?usage: scripts/package-program.sh FOLDER PLATFORM}
cargo build --release --locked -p soma-mcmc-cli
target=${CARGO_TARGET_DIR:-target}
name=soma-$(scripts/version.sh)-$platform
folder=$target/package/$name
rm -rf "$folder"
mkdir -p "$folder/completions" "$out"

program=$target/release/soma
[ -f "$program" ] || program=$program.exe
cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder"
"$program" man --out "$folder/man"
for shell in bash zsh fish powershell elvish; do
  "$program" completions "$shell" > "$folder/completions/soma.$shell"
done
tar -czf "$out/$name.tar.gz" -C "$target/package" "$name"
ls -l "$program" "$out/$name.tar.gz"
