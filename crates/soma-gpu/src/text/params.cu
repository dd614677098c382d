// ---- What the host calls with.

struct Params {
  const double* published;  // [release][STATS]: the published sums, less offsets, in units of the noise
  float* records;           // [tile][record][DIM][TILE]
  double* theta;            // [PARAMETERS][stride]: as a user reads it before soma_start, free after it
  double* tuning;           // [TUNING][stride]
  float* draws;             // [draw][OUTPUTS + 1][stride]: theta or what else is drawn, and the cost in nats
  u64* counts;              // [2][stride]: moves and theta moves accepted after warm-up
  u32* failed;              // [stride]: one more than the iteration where numbers overflowed, or 0
  int* places;              // [stride]: with FROZEN, the place that the proposal took, or -1
  float* proposals;         // [DIM][stride]: with FROZEN, the proposal
  u64 first_chain, iteration, warmup;
  u32 iterations, thin, chains, stride, chains_per_release;
  u32 keys[2 * ROUNDS];     // of the random numbers, from the seed
};

__device__ __forceinline__ Stream stream_of(const Params& p, u32 chain, u64 iteration) {
  u64 number = p.first_chain + chain;
  return Stream{p.keys, {(u32)number, (u32)(number >> 32)}, (u32)iteration};
}

__device__ __forceinline__ const double* published_of(const Params& p, u32 chain) {
  return p.published + (u64)(chain / p.chains_per_release) * STATS;
}

// Iterations since the last draw that was kept, when a launch begins.
__device__ __forceinline__ u32 since_last_draw(const Params& p) {
  return p.iteration > p.warmup ? (u32)((p.iteration - p.warmup) % p.thin) : 0;
}

constexpr u32 TILE = 32;

__device__ __forceinline__ float* tile_of(const Params& p, u32 chain) {
  return p.records + (u64)(chain / TILE) * (TILE * RECORDS * DIM) + chain % TILE;
}
