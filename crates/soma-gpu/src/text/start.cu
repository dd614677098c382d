// ---- The beginning of chains.

// Draws the first records of each chain from the model at its theta, as iteration 0.
extern "C" __global__ void soma_start(Params p) {
  u32 chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= p.chains) return;
  double theta[PARAMETERS], free[PARAMETERS];
  for (int k = 0; k < PARAMETERS; k++) theta[k] = p.theta[(u64)k * p.stride + chain];
  to_free(theta, free);
  Drawer d = drawer(free);
  Stream stream = stream_of(p, chain, 0);
  float* records = tile_of(p, chain);
  for (u32 i = 0; i < RECORDS; i += 2) {
    Proposals two = propose_two(stream, i / 2, d);
    for (int h = 0; h < 2 && i + h < RECORDS; h++)
      for (int d = 0; d < DIM; d++) records[((i + h) * DIM + d) * TILE] = two.record[h][d];
  }
  for (int at = 0; NON_CENTRED > 0 && at < TUNING; at++) tuned(p, chain, at) = 0.0;
  for (int i = 0; NON_CENTRED > 0 && i < PARAMETERS; i++) {
    tuned(p, chain, MEAN + i) = free[i];
    tuned(p, chain, SPREAD + i * (i + 1) / 2 + i) = 0.1;
  }
  for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + chain] = free[k];
  p.counts[chain] = 0;
  p.counts[p.stride + chain] = 0;
  p.failed[chain] = 0;
}
