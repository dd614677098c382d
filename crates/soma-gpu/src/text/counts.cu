// ---- Counts without records: the number of records of each of RECORDS categories, which sum to TOTAL. Their
// probabilities are integrated out, so that the counts are Dirichlet-multinomial, and drawn for each draw
// that is kept. The cost of the release is a sum over the categories.

// The cost in nats of `count` records of category k.
__device__ __forceinline__ double cost_of_count(const double* published, int k, double count) {
  double r = published[k] + shift(k) - count * unit(k);
  return 0.69314718055994531 * (is_l1(k) > 0.5 ? fabs(r) : r * r);
}

// The log density of `count` records of category k.
__device__ double log_weight(const double* published, int k, double count) {
  return lgamma(count + prior(k)) - lgamma(count + 1.0) - cost_of_count(published, k, count);
}

// The log density where category a has `count` of the `both` records of a and b.
__device__ double log_split(const double* published, int a, int b, double both, double count) {
  if (count < 0.0 || count > both) return -1.0 / 0.0;
  return log_weight(published, a, count) + log_weight(published, b, both - count);
}

// A slice move (Neal 2003, sections 4.1 and 4.2) of the number of records of category a, with what a and b have
// together held fixed. A count is a uniform number on [count, count + 1), with a density that is constant
// there. Gives the new count.
constexpr u32 WIDEST = 32;

__device__ double transfer(const double* published, int a, int b, double both, double count, Dice& dice) {
  Words words = draw_words(dice.stream, dice.call++);
  double at = count + fminf(uniform(words.x[3]), 0.99999994f);
  double width = fmax(1.0, 2.0 / unit(a) + 2.0 / unit(b));
  double level = log_split(published, a, b, both, count) + log((double)uniform(words.x[0]));
  double low = at - width * uniform(words.x[1]), high = low + width;
  u32 below = words.x[2] % WIDEST, above = WIDEST - 1 - below;
  for (; below > 0 && log_split(published, a, b, both, floor(low)) > level; below--) low -= width;
  for (; above > 0 && log_split(published, a, b, both, floor(high)) > level; above--) high += width;
  for (int trial = 0; trial < 200; trial++) {
    double there = low + (high - low) * draw_uniform(dice);
    if (log_split(published, a, b, both, floor(there)) > level) return floor(there);
    if (there < at) low = there;
    else high = there;
  }
  return count;
}

// The first counts: multinomial at theta.
extern "C" __global__ void soma_start(Params p) {
  u32 chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= p.chains) return;
  Stream stream = stream_of(p, chain, 0);
  float* counts = tile_of(p, chain);
  double left = TOTAL, rest = 1.0, theta[PARAMETERS], free[PARAMETERS];
  for (int k = 0; k < RECORDS; k++) {
    theta[k] = p.theta[(u64)k * p.stride + chain];
    float share = rest > 0.0 ? fminf((float)(theta[k] / rest), 1.0f) : 1.0f;
    float count = k + 1 < RECORDS ? draw_binomial((float)left, share, Dice{stream, (u32)k << 16}) : (float)left;
    counts[k * TILE] = count;
    left -= count;
    rest -= theta[k];
  }
  to_free(theta, free);
  for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + chain] = free[k];
  p.counts[chain] = 0;
  p.counts[p.stride + chain] = 0;
  p.failed[chain] = 0;
}

// Iterations p.iteration + 1, ..., p.iteration + p.iterations of each chain: a move of each category with another one
// at random.
extern "C" __global__ void __launch_bounds__(THREADS, 1) soma_chains(Params p) {
  u32 number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= p.chains) return;
  Chain chain = begin_chain(p, number);
  float* counts = chain.counts;
  for (u32 step = 0; step < p.iterations; step++) {
    u64 iteration = p.iteration + step;
    Dice dice{stream_of(p, number, iteration + 1), 0u};
    for (int a = 0; a < RECORDS; a++) {
      int b = (a + 1 + (int)__umulhi(draw_words(dice.stream, dice.call++).x[0], RECORDS - 1)) % RECORDS;
      double count = counts[a * TILE], both = count + counts[b * TILE];
      double there = both > 0.0 ? transfer(chain.published, a, b, both, count, dice) : count;
      counts[a * TILE] = (float)there;
      counts[b * TILE] = (float)(both - there);
      chain.moved += iteration >= p.warmup && there != count ? 1 : 0;
    }
    if (!is_due(p, chain, iteration)) continue;
    double sums[PARAMETERS], free[PARAMETERS], theta[PARAMETERS], cost = 0.0;
    for (int k = 0; k < RECORDS; k++) {
      sums[k] = counts[k * TILE];
      cost += cost_of_count(chain.published, k, sums[k]);
    }
    update_theta(sums, counts, 0, free, dice);
    from_free(free, theta);
    keep(p, chain, iteration, theta, PARAMETERS, cost);
  }
  end_chain(p, chain);
}
