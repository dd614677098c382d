// ---- A chain of counts during a launch. The counts are where others have their records.

struct Chain {
  u32 number;
  float* counts;
  const double* published;
  // Draws that were kept, iterations since the last of them, and the iteration after the first overflow.
  u32 draws, since, failed;
  u64 moved;
};

__device__ __forceinline__ Chain begin_chain(const Params& p, u32 number) {
  return Chain{number, tile_of(p, number), published_of(p, number), 0, since_last_draw(p), 0, 0};
}

// Whether the draw of an iteration is kept.
__device__ __forceinline__ bool is_due(const Params& p, Chain& chain, u64 iteration) {
  if (iteration < p.warmup || ++chain.since != p.thin) return false;
  chain.since = 0;
  return true;
}

// Keeps the `count` values of a draw, and the cost of the release in nats.
__device__ __forceinline__ void keep(
    const Params& p, Chain& chain, u64 iteration, const double* values, int count, double cost) {
  u64 row = (u64)chain.draws++ * (count + 1);
  for (int k = 0; k < count; k++) {
    p.draws[(row + k) * p.stride + chain.number] = (float)values[k];
    if (chain.failed == 0 && !(fabs(values[k]) <= 1e30)) chain.failed = (u32)iteration + 1;
  }
  p.draws[(row + count) * p.stride + chain.number] = (float)cost;
}

__device__ __forceinline__ void end_chain(const Params& p, const Chain& chain) {
  p.counts[chain.number] += chain.moved;
  if (chain.failed != 0 && p.failed[chain.number] == 0) p.failed[chain.number] = chain.failed;
}
