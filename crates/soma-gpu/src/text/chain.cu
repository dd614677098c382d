// ---- Chains: sweeps, theta given the records (centred), theta with the records (non-centred).

constexpr int TRIANGLE = PARAMETERS * (PARAMETERS + 1) / 2;
// The tuning of the non-centred update: the log of its step, mean and factor of its reference law,
// and the sums of a quarter of the warm-up: their number, means and products.
constexpr int STEP = 0, MEAN = 1, SPREAD = MEAN + PARAMETERS, COUNT = SPREAD + TRIANGLE;
constexpr int RUNNING = COUNT + 1, PRODUCTS = RUNNING + PARAMETERS, TUNING = PRODUCTS + TRIANGLE;

__device__ __forceinline__ double& tuned(const Params& p, u32 chain, int at) {
  return p.tuning[(u64)at * p.stride + chain];
}

// Sums over the records: eight at a time in single precision, these in double.
template <int SIZE, class Add>
__device__ __forceinline__ void sum_records(
    const Params& p, u32 chain, u32 lane, double (&sums)[SIZE], Add add) {
#pragma unroll
  for (int k = 0; k < SIZE; k++) sums[k] = 0.0;
#pragma unroll 1
  for (u32 first = lane; first < RECORDS; first += 8 * LANES) {
    float some[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; k++) some[k] = 0.0f;
#pragma unroll 2
    for (u32 i = first; i < first + 8 * LANES && i < RECORDS; i += LANES) {
      float record[DIM];
      load_record(p, chain, i, record);
      add(record, some);
    }
#pragma unroll
    for (int k = 0; k < SIZE; k++) sums[k] += some[k];
  }
#pragma unroll
  for (int k = 0; k < SIZE; k++) sums[k] = sum_of_lanes(sums[k]);
}

__device__ __forceinline__ void add_statistic(const float* record, float* sums) {
  float variables[DIM], statistic[STATS];
  to_variables(record, variables);
  to_statistic(variables, statistic);
#pragma unroll
  for (int k = 0; k < STATS; k++) sums[k] += statistic[k];
}

__device__ __forceinline__ void set_residual(
    const Params& p, u32 chain, const double* sums, float (&residual)[STATS]) {
  const double* published = p.published + (u64)(chain / p.chains_per_release) * STATS;
#pragma unroll
  for (int k = 0; k < STATS; k++) residual[k] = (float)(published[k] - sums[k]);
}

// The Cholesky factor of the covariance of the last quarter of the warm-up, if it has one.
__device__ void take_moments(const Params& p, u32 chain) {
  double count = tuned(p, chain, COUNT), lower[PARAMETERS][PARAMETERS];
  bool is_good = count > 2.0 * PARAMETERS;
  for (int i = 0; i < PARAMETERS; i++)
    for (int j = 0; j <= i; j++) {
      double entry = tuned(p, chain, PRODUCTS + i * (i + 1) / 2 + j) / (count - 1.0);
      for (int l = 0; l < j; l++) entry -= lower[i][l] * lower[j][l];
      lower[i][j] = i == j ? sqrt(entry) : entry / lower[j][j];
      is_good = is_good && lower[i][j] - lower[i][j] == 0.0 && (i != j || lower[i][i] > 1e-9);
    }
  for (int i = 0; i < PARAMETERS && is_good; i++) {
    tuned(p, chain, MEAN + i) = tuned(p, chain, RUNNING + i);
    for (int j = 0; j <= i; j++) tuned(p, chain, SPREAD + i * (i + 1) / 2 + j) = lower[i][j];
  }
  for (int at = COUNT; at < TUNING; at++) tuned(p, chain, at) = 0.0;
}

__device__ void add_moments(const Params& p, u32 chain, const double* free) {
  double count = tuned(p, chain, COUNT) + 1.0, gap[PARAMETERS];
  tuned(p, chain, COUNT) = count;
  for (int i = 0; i < PARAMETERS; i++) {
    gap[i] = free[i] - tuned(p, chain, RUNNING + i);
    tuned(p, chain, RUNNING + i) += gap[i] / count;
    for (int j = 0; j <= i; j++)
      tuned(p, chain, PRODUCTS + i * (i + 1) / 2 + j) += gap[i] * gap[j] * (1.0 - 1.0 / count);
  }
}

// The non-centred update: theta moves and each record is carried to what its noise gives at the new
// theta, so that only prior and release are weighed. free' = mean + spread (rho z + step e), where
// free = mean + spread z, e is standard normal and rho^2 + step^2 = 1: the step leaves the normal
// with this mean and spread invariant (preconditioned Crank-Nicolson), which the acceptance
// divides out. Mean, spread and step are frozen after the warm-up.
__device__ __forceinline__ bool update_non_centred(
    const Params& p, u32 chain, u32 lane, bool is_chain, double (&free)[PARAMETERS], Dice& dice,
    float (&residual)[STATS], float& cost, double& probability) {
  double place[PARAMETERS], moved[PARAMETERS], new_free[PARAMETERS], log_ratio = 0.0;
  double log_step = tuned(p, chain, STEP), step = exp(log_step);
  double rho = sqrt(fmax(1.0 - step * step, 0.0));
#pragma unroll
  for (int i = 0; i < PARAMETERS; i++) {
    double gap = free[i] - tuned(p, chain, MEAN + i);
#pragma unroll
    for (int j = 0; j < i; j++) gap -= tuned(p, chain, SPREAD + i * (i + 1) / 2 + j) * place[j];
    place[i] = gap / tuned(p, chain, SPREAD + i * (i + 1) / 2 + i);
    moved[i] = rho * place[i] + step * normal(dice);
    log_ratio += 0.5 * (moved[i] * moved[i] - place[i] * place[i]);
    new_free[i] = tuned(p, chain, MEAN + i);
#pragma unroll
    for (int j = 0; j <= i; j++) new_free[i] += tuned(p, chain, SPREAD + i * (i + 1) / 2 + j) * moved[j];
  }
  Drawer from = drawer(free), to = drawer(new_free);
  double sums[STATS];
  sum_records(p, chain, lane, sums, [&](float* record, float* some) {
    float variables[DIM], statistic[STATS];
    carry(from, to, record);
    to_variables(record, variables);
    to_statistic(variables, statistic);
#pragma unroll
    for (int k = 0; k < STATS; k++)
      if (is_carried(k)) some[k] += statistic[k];
  });
  float new_residual[STATS];
  set_residual(p, chain, sums, new_residual);
#pragma unroll
  for (int k = 0; k < STATS; k++)
    if (!is_carried(k)) new_residual[k] = residual[k];
  float new_cost = cost_of(new_residual);
  log_ratio += log_prior(new_free) - log_prior(free) + 0.69314718055994531 * ((double)cost - new_cost);
  double own_probability = log_ratio >= 0.0 ? 1.0 : exp(log_ratio);
  if (!(own_probability >= 0.0)) own_probability = 0.0;
  probability += own_probability;
  bool is_accepted = uniform(dice) <= own_probability;
  if (is_accepted) {
#pragma unroll 2
    for (u32 i = lane; i < RECORDS; i += LANES) {
      float record[DIM];
      load_record(p, chain, i, record);
      carry(from, to, record);
#pragma unroll
      for (int d = FIRST_CARRIED; d < DIM; d++)
        if (is_chain) p.records[(u64)(i * DIM + d) * p.stride + chain] = record[d];
    }
#pragma unroll
    for (int i = 0; i < PARAMETERS; i++) free[i] = new_free[i];
#pragma unroll
    for (int k = 0; k < STATS; k++) residual[k] = new_residual[k];
    cost = new_cost;
  }
  if (LANES > 1) __syncwarp();
  return is_accepted;
}

// What the warm-up learns: moments of each quarter are used from the next one on, and the step goes
// to an acceptance rate of 0.3, or to 1, where theta is proposed anew.
__device__ void tune(
    const Params& p, u32 chain, u32 lane, bool is_chain, u64 iteration, const double* free, double probability) {
  u64 quarter = p.warmup / 4;
  if (lane == 0 && is_chain && quarter > 0 && iteration < 4 * quarter) {
    add_moments(p, chain, free);
    if (iteration >= quarter) {
      double passed = (double)(iteration % quarter) + 1.0;
      double log_step = tuned(p, chain, STEP) + (probability - 0.3) / sqrt(passed);
      tuned(p, chain, STEP) = fmax(fmin(log_step, 0.0), -10.0);
    }
    if ((iteration + 1) % quarter == 0 && iteration + 1 < 4 * quarter) take_moments(p, chain);
  }
  if (LANES > 1) __syncwarp();
}

__device__ __forceinline__ Stream stream_of(const Params& p, u32 chain, u64 iteration) {
  u64 number = p.first_chain + chain;
  return Stream{
      {(u32)p.seed, (u32)(p.seed >> 32)}, {(u32)number, (u32)(number >> 32)}, (u32)iteration};
}

// Draws the first records of each chain from the model at its theta, as iteration 0.
extern "C" __global__ void soma_start(Params p) {
  u32 chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= p.chains) return;
  double theta[PARAMETERS], free[PARAMETERS];
  for (int k = 0; k < PARAMETERS; k++) theta[k] = p.theta[(u64)k * p.stride + chain];
  to_free(theta, free);
  Drawer d = drawer(free);
  Stream stream = stream_of(p, chain, 0);
  for (u32 i = 0; i < RECORDS; i += 2) {
    Proposals two = propose_two(stream, i / 2, d);
    store_record(p, chain, i, two.record[0]);
    if (i + 1 < RECORDS) store_record(p, chain, i + 1, two.record[1]);
  }
  for (int at = 0; at < TUNING; at++) tuned(p, chain, at) = 0.0;
  for (int i = 0; i < PARAMETERS; i++) {
    tuned(p, chain, MEAN + i) = free[i];
    tuned(p, chain, SPREAD + i * (i + 1) / 2 + i) = 0.1;
  }
  for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + chain] = free[k];
  p.counts[chain] = 0;
  p.counts[p.stride + chain] = 0;
  p.failed[chain] = 0;
}

// Iterations p.iteration + 1, ..., p.iteration + p.iterations of each chain.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) soma_chains(Params p) {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, lane = thread % LANES, chain = thread / LANES;
  // Lanes of a warp stay together: a chain too many repeats the last one, and stores nothing.
  bool is_chain = chain < p.chains;
  chain = is_chain ? chain : p.chains - 1;
  double theta[PARAMETERS], free[PARAMETERS];
  for (int k = 0; k < PARAMETERS; k++) free[k] = p.theta[(u64)k * p.stride + chain];
  u32 draw = 0;
  u64 accepted = 0, theta_accepted = 0;
  u32 failed = 0;
  float residual[STATS], cost;
  double sums[STATS + SUMS];
  auto sum_all = [&]() {
    sum_records(p, chain, lane, sums, [](float* record, float* some) {
      add_statistic(record, some);
      add_sums(record, some + STATS);
    });
    set_residual(p, chain, sums, residual);
    cost = cost_of(residual);
  };
  sum_all();
#pragma unroll 1
  for (u32 step = 0; step < p.iterations; step++) {
    u64 iteration = p.iteration + step;
    bool is_kept = iteration >= p.warmup;
    Stream stream = stream_of(p, chain, iteration + 1);
    u32 taken = sweep(p, stream, chain, lane, is_chain, drawer(free), residual, cost);
    if (FROZEN) return;
    // The residual anew: what rounding added in the sweep is gone.
    sum_all();
    Dice dice{stream, 0x80000000u};
    update_theta(sums + STATS, free, dice);
    u32 moved = 0;
    if (NON_CENTRED > 0) {
      double probability = 0.0;
      if (iteration >= p.warmup / 4) {
#pragma unroll 1
        for (int turn = 0; turn < NON_CENTRED; turn++)
          moved += update_non_centred(p, chain, lane, is_chain, free, dice, residual, cost, probability);
      }
      if (!is_kept) tune(p, chain, lane, is_chain, iteration, free, probability / (NON_CENTRED > 0 ? NON_CENTRED : 1));
    }
    accepted += is_kept ? taken : 0;
    theta_accepted += is_kept ? moved : 0;
    float health = cost;
    for (int k = 0; k < PARAMETERS; k++) health += (float)free[k];
    if (failed == 0 && !(fabsf(health) <= 1e30f)) failed = (u32)iteration + 1;
    if (is_kept && (iteration + 1 - p.warmup) % p.thin == 0) {
      from_free(free, theta);
      u64 row = (u64)draw * (PARAMETERS + 1);
      if (lane == 0 && is_chain) {
        for (int k = 0; k < PARAMETERS; k++) p.draws[(row + k) * p.stride + chain] = (float)theta[k];
        p.draws[(row + PARAMETERS) * p.stride + chain] = 0.6931472f * cost;
      }
      draw++;
    }
  }
  if (lane == 0 && is_chain) {
    for (int k = 0; k < PARAMETERS; k++) p.theta[(u64)k * p.stride + chain] = free[k];
    p.counts[chain] += accepted;
    p.counts[p.stride + chain] += theta_accepted;
    if (failed != 0 && p.failed[chain] == 0) p.failed[chain] = failed;
  }
}
