#!/usr/bin/env bash
# Prints every figure of docs/gpu.md. Needs an NVIDIA GPU, its driver and NVRTC, and `soma` built with
# `cargo build --release -p soma-mcmc-cli --features gpu`; SOMA names the program, if it is elsewhere.
set -uo pipefail
cd "$(dirname "$0")/.."
soma=${SOMA:-target/release/soma}
part=${1:-all}
title() { printf '\n== %s\n' "$*"; }
timed() {
  local begun; begun=$(date +%s%N)
  "$@"
  local code=$?
  echo "exit code $code, $((($(date +%s%N) - begun) / 1000000)) ms in all"
}

if [ "$part" = all ] || [ "$part" = check ]; then
  date -u
  nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader
  for spec in regression-n10-eps30 regression-n10-eps3 regression-n100-eps30 normal-gaussian-noise proportion \
    poisson-counts binomial-successes overdispersed-counts gamma-durations heavy-tails log-normal-mean two-groups \
    category-counts logistic-regression poisson-regression regression-unknown-predictors multivariate-normal count-and-sum; do
    for kernel in soma "soma-blocks --subset 4" sys-imwg ran-imwg; do
      title "check $spec $kernel"
      $soma gpu check examples/$spec.toml --kernel $kernel
    done
  done
fi
if [ "$part" = all ] || [ "$part" = bench ]; then
  title "moves and effective draws per second"
  $soma gpu bench
fi
if [ "$part" = all ] || [ "$part" = sbc ]; then
  for spec in "regression-n100-eps30 --warmup 1000 --thin 200" "regression-n100-eps3 --warmup 4000 --thin 400" \
    "regression-n10-eps30 --warmup 1000 --thin 100" "regression-n10-eps3 --warmup 1000 --thin 50" \
    "normal-gaussian-noise --n 20 --warmup 20000 --thin 2000" \
    "proportion --n 50 --warmup 1000 --thin 100" "poisson-counts --n 50 --warmup 1000 --thin 100" \
    "category-counts --n 50 --warmup 1000 --thin 100" "gamma-durations --n 50 --warmup 2000 --thin 200" \
    "log-normal-mean --n 50 --warmup 2000 --thin 200" "two-groups --n 50 --warmup 2000 --thin 200" \
    "two-groups --n 50 --warmup 2000 --thin 200 --moves centred" \
    "atus-female --n 50 --warmup 2000 --thin 200" \
    "heavy-tails --n 20 --warmup 5000 --thin 500" "overdispersed-counts --n 20 --warmup 2000 --thin 200" \
    "binomial-successes --n 20 --warmup 1000 --thin 100" "multivariate-normal --n 10 --warmup 2000 --thin 200" \
    "regression-unknown-predictors --n 10 --warmup 2000 --thin 200" \
    "gamma-durations --n 20 --warmup 300 --thin 30 --moves interwoven"; do
    title "SBC of 100,000 replications: $spec"
    set -- $spec
    name=$1; shift
    timed $soma calibrate examples/$name.toml --device gpu --kernel sys-imwg --replications 100000 "$@"
  done
fi
if [ "$part" = all ] || [ "$part" = counts ]; then
  title "SBC of 100,000 replications: counts without records"
  timed $soma calibrate examples/category-counts.toml --device gpu --replications 100000 --warmup 100 --thin 10
  title "SBC of 100,000 replications: tables with an unknown n"
  specs=$(mktemp -d)
  sed 's/^n = "unknown".*/n = { prior = "poisson", mean = 300 }/' examples/cross-table.toml > "$specs/cross-table.toml"
  sed 's/^n = "unknown".*/n = { prior = "poisson", mean = 30 }/; s/, clamp = \[0, inf\]//' examples/clamped-counts.toml > "$specs/counts.toml"
  timed $soma calibrate "$specs/cross-table.toml" --device gpu --replications 100000 --warmup 2000 --thin 100
  timed $soma calibrate "$specs/counts.toml" --device gpu --replications 100000 --warmup 1000 --thin 50
  rm -r "$specs"
fi
if [ "$part" = all ] || [ "$part" = texts ]; then
  for spec in two-groups regression-unknown-predictors multivariate-normal; do
    title "fit $spec on the GPU: chains that come in late"
    $soma fit examples/$spec.toml --device gpu --quiet --kernel sys-imwg --chains 4096 --warmup 1000 --draws 100 --thin 2
  done
fi
if [ "$part" = all ] || [ "$part" = couple ]; then
  for spec in regression-n10-eps30 regression-n10-eps3; do
    for kernel in soma sys-imwg; do
      title "100,000 pairs of $kernel, $spec; then 500 on the CPU"
      timed $soma couple examples/$spec.toml --device gpu --kernel $kernel --pairs 100000
      timed $soma couple examples/$spec.toml --device gpu --kernel $kernel --pairs 100000 --estimate
      timed $soma couple examples/$spec.toml --quiet --kernel $kernel --pairs 500
    done
  done
fi
if [ "$part" = all ] || [ "$part" = means ]; then
  title "posterior means on the GPU against those on the CPU, in standard errors"
  # means SPEC CPU_DRAWS WARMUP DRAWS KERNELS
  means() {
    local spec=$1 cpu_draws=$2 warmup=$3 draws=$4 cpu gpu kernel
    shift 4
    cpu=$($soma fit examples/$spec.toml --device cpu --quiet --json --chains 16 --warmup 1000 --draws $cpu_draws)
    for kernel in "$@"; do
      gpu=$($soma fit examples/$spec.toml --device gpu --quiet --json --kernel $kernel --chains 4096 --warmup $warmup --draws $draws --thin 4)
      python3 scripts/gpu-means.py "$spec $kernel" "$cpu" "$gpu"
    done
  }
  for spec in regression-n100-eps30 regression-n100-eps3 regression-n10-eps30 regression-n10-eps3 normal-gaussian-noise; do
    means $spec 20000 4000 256 soma sys-imwg
  done
  for spec in proportion poisson-counts binomial-successes category-counts log-normal-mean gamma-durations count-and-sum; do
    means $spec 4000 2000 256 soma sys-imwg
  done
  for spec in private-mean-n2 histogram-n20 histogram-n50; do
    means $spec 20000 2000 256 soma sys-imwg
  done
  for spec in clamped-counts suppressed-counts cross-table; do
    means $spec 20000 2000 256 counts
  done
  for spec in two-groups regression-unknown-predictors multivariate-normal; do
    means $spec 4000 2000 128 sys-imwg
  done
  for spec in atus-female atus-male; do
    means $spec 1000 500 100 sys-imwg
  done
fi
if [ "$part" = all ] || [ "$part" = fit ]; then
  for spec in regression-n100-eps30 regression-n100-eps3 regression-n10-eps30 regression-n10-eps3; do
    title "fit $spec on the GPU, then on the CPU"
    $soma fit examples/$spec.toml --device gpu --chains 10000 --warmup 1000 --draws 100 --thin 4
    $soma fit examples/$spec.toml --device cpu --quiet
  done
fi
