// ---- Chains: sweeps, theta given the records (centred), theta with the records (non-centred).

// Iterations p.iteration + 1, ..., p.iteration + p.iterations of each chain.
extern "C" __global__ void __launch_bounds__(THREADS, 1) soma_chains(Params p) {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, lane = thread % LANES, chain = thread / LANES;
  // Lanes of a warp stay together: a chain too many repeats the last one, and stores nothing.
  bool is_chain = chain < p.chains;
  if (LANES == 1 && !is_chain) return;
  chain = is_chain ? chain : p.chains - 1;
  float* records = records_of(p, chain);
  bring_records(p, chain, records);
  double theta[PARAMETERS], free[PARAMETERS];
  for (int k = 0; k < PARAMETERS; k++) free[k] = p.theta[(u64)k * p.stride + chain];
  u32 draw = 0, since = since_last_draw(p);
  u64 accepted = 0, theta_accepted = 0;
  u32 failed = 0;
  float residual[STATS];
  Totals totals;
  const double* published = published_of(p, chain);
  sum_all(records, lane, totals);
  set_residual(published, totals, residual);
  float cost = cost_of(residual);
  Carrier pending = no_carrier();
  prepare(records, lane, is_chain);
#pragma unroll 1
  for (u32 step = 0; step < p.iterations; step++) {
    u64 iteration = p.iteration + step;
    bool is_kept = iteration >= p.warmup;
    Stream stream = stream_of(p, chain, iteration + 1);
    u32 taken = sweep(p, stream, chain, lane, is_chain, records, drawer(free), pending, residual, cost, totals);
    if (FROZEN) return;
    if (REVISITS) sum_all(records, lane, totals);
    // The residual from the records: without it, rounding would add up over the sweeps.
    set_residual(published, totals, residual);
    cost = cost_of(residual);
    double sums[GIVEN > 0 ? GIVEN : 1];
#pragma unroll
    for (int k = 0; k < GIVEN; k++) sums[k] = sum_of_lanes(totals.at(STATS + k));
    Dice dice{stream, 0x80000000u};
    if (!FIXED) update_theta(sums, records, lane, free, dice);
    u32 moved = 0;
    if (NON_CENTRED > 0) {
      double probability = 0.0;
      Drawer reference = drawer(free), current = reference;
      bool is_early = iteration < p.warmup / 4;
      if (WALKS || !is_early) {
        double prior = log_prior(free);
#pragma unroll 1
        for (int turn = 0; turn < NON_CENTRED; turn++) {
          bool walks = WALKS && (is_early || turn % 4 == 3);
          moved += update_non_centred(
              p, published, chain, lane, records, walks, free, dice, reference, current, prior, residual, cost, probability);
        }
      }
      if (!is_kept) tune(p, chain, lane, is_chain, iteration, free, probability / (TUNED > 0 ? TUNED : 1));
      pending = moved > 0 ? carrier(reference, current, stream) : no_carrier();
      if (REVISITS) carry_all(records, lane, is_chain, pending);
    }
    accepted += is_kept ? taken : 0;
    theta_accepted += is_kept ? moved : 0;
    float health = cost;
    for (int k = 0; k < PARAMETERS; k++) health += (float)free[k];
    if (failed == 0 && !(fabsf(health) <= 1e30f)) failed = (u32)iteration + 1;
    if (is_kept && ++since == p.thin) {
      since = 0;
      from_free(free, theta);
      double out[OUTPUTS > 0 ? OUTPUTS : 1];
      fill_outputs(theta, records, lane, out);
      if (SLOTTED) out[OUTPUTS - 1] = number_of(sums);
      for (int k = 0; k < OUTPUTS; k++)
        if (failed == 0 && !(fabsf((float)out[k]) <= 1e30f)) failed = (u32)iteration + 1;
      u64 row = (u64)draw * (OUTPUTS + 1);
      if (lane == 0 && is_chain) {
        for (int k = 0; k < OUTPUTS; k++) p.draws[(row + k) * p.stride + chain] = (float)out[k];
        p.draws[(row + OUTPUTS) * p.stride + chain] = 0.6931472f * (SLOTTED ? cost - cost_of_size(residual) : cost);
      }
      draw++;
    }
  }
  if (NON_CENTRED > 0 && !REVISITS) carry_all(records, lane, is_chain, pending);
  return_records(p, chain, records);
  if (lane == 0 && is_chain) {
    for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + chain] = free[k];
    p.counts[chain] += accepted;
    p.counts[p.stride + chain] += theta_accepted;
    if (failed != 0 && p.failed[chain] == 0) p.failed[chain] = failed;
  }
}
