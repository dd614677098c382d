// ---- Passes over the records of a chain, outside of a sweep.

// Calls `each` on the records of this lane, and sums what it adds to its second argument.
template <class Each>
__device__ __forceinline__ void sum_records(const float* records, u32 lane, Totals& totals, Each each) {
  float some[SUMMED] = {};
  totals.clear();
#pragma unroll 1
  for (u32 first = lane; first < RECORDS; first += AT_ONCE * LANES) {
#pragma unroll 8
    for (u32 i = first; i < first + AT_ONCE * LANES && i < RECORDS; i += LANES) {
      float record[DIM];
      load_record(records, i, record);
      each(i, record, some);
    }
    totals.take(some);
  }
}

// The residual from the totals.
__device__ __forceinline__ void set_residual(const double* published, Totals& totals, float (&residual)[STATS]) {
#pragma unroll
  for (int k = 0; k < STATS; k++) residual[k] = (float)(published[k] - sum_of_lanes(totals.at(k)));
}

// All sums over the records, as they are in memory.
__device__ __forceinline__ void sum_all(const float* records, u32 lane, Totals& totals) {
  sum_records(records, lane, totals, [](u32, float* record, float (&some)[SUMMED]) {
    float variables[VARIABLES];
    to_variables(record, variables);
    add_record(record, variables, some);
  });
}

// Carries every record, for what reads them outside of a sweep.
__device__ __forceinline__ void carry_all(float* records, u32 lane, bool is_chain, const Carrier& pending) {
#pragma unroll 4
  for (u32 i = lane; i < RECORDS; i += LANES) {
    float record[DIM];
    load_record(records, i, record);
    carry_held(pending, i, record);
    if (is_chain) store_record(records, i, record, FIRST_CARRIED);
  }
  if (LANES > 1) __syncwarp();
}

// ---- Updates of theta with the records.

constexpr int TRIANGLE = PARAMETERS * (PARAMETERS + 1) / 2;
// The tuning of the non-centred update: the log of its step, mean and factor of its reference law,
// and the sums of a quarter of the warm-up: their number, means and products.
constexpr int STEP = 0, MEAN = 1, SPREAD = MEAN + PARAMETERS, COUNT = SPREAD + TRIANGLE;
constexpr int RUNNING = COUNT + 1, PRODUCTS = RUNNING + PARAMETERS, TUNING = PRODUCTS + TRIANGLE;

__device__ __forceinline__ double& tuned(const Params& p, u32 chain, int at) {
  return p.tuning[(u64)at * p.stride + chain];
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
//
// Records in memory are those of the theta `reference`; they are carried by the next sweep, which reads and
// writes them anyway. So an update reads the records once and writes none.
//
// A walk, every fourth update of a model written as text and each of the first quarter of the warm-up, moves one parameter, at random, by a normal step whose size is between
// the width of the prior and a thousandth of it. It finds back where a chain has come to a place at which the release
// hardly depends on a parameter, such as a standard deviation far below the noise: there the learned steps are short.
__device__ __forceinline__ void propose_walk(const double (&free)[PARAMETERS], Dice& dice, double (&new_free)[PARAMETERS]) {
  Words words = draw_words(dice.stream, dice.call++);
  u32 k = __umulhi(words.x[0], PARAMETERS);
  float normal, unused;
  two_normals(words.x[2], words.x[3], normal, unused);
  double size = exp2f(-10.0f * uniform(words.x[1])) * normal;
#pragma unroll
  for (int i = 0; i < PARAMETERS; i++) new_free[i] = free[i] + (i == k ? walk_width(i) * size : 0.0);
}

// Updates of an iteration whose step is tuned.
constexpr int TUNED = WALKS ? NON_CENTRED - NON_CENTRED / 4 : NON_CENTRED;

__device__ __forceinline__ bool update_non_centred(
    const Params& p, const double* published, u32 chain, u32 lane, const float* records, bool walks,
    double (&free)[PARAMETERS], Dice& dice, const Drawer& reference, Drawer& current, double& prior, float (&residual)[STATS], float& cost,
    double& probability) {
  double new_free[PARAMETERS], log_ratio = 0.0;
  if (walks) {
    propose_walk(free, dice, new_free);
  } else {
    double place[PARAMETERS], moved[PARAMETERS];
    double step = exp2f((float)(1.4426950408889634 * tuned(p, chain, STEP)));
    double rho = sqrt(fmax(1.0 - step * step, 0.0));
    float normals[PARAMETERS];
    draw_normals(dice, normals);
#pragma unroll
    for (int i = 0; i < PARAMETERS; i++) {
      double gap = free[i] - tuned(p, chain, MEAN + i);
#pragma unroll
      for (int j = 0; j < i; j++) gap -= tuned(p, chain, SPREAD + i * (i + 1) / 2 + j) * place[j];
      place[i] = gap * inverse(tuned(p, chain, SPREAD + i * (i + 1) / 2 + i));
      moved[i] = rho * place[i] + step * normals[i];
      log_ratio += 0.5 * (moved[i] * moved[i] - place[i] * place[i]);
      new_free[i] = tuned(p, chain, MEAN + i);
#pragma unroll
      for (int j = 0; j <= i; j++) new_free[i] += tuned(p, chain, SPREAD + i * (i + 1) / 2 + j) * moved[j];
    }
  }
  Drawer to = drawer(new_free);
  Carrier between = carrier(reference, to, dice.stream);
  Totals totals;
  sum_records(records, lane, totals, [&](u32 place, float* record, float (&some)[SUMMED]) {
    float variables[VARIABLES], statistic[STATS];
    carry_held(between, place, record);
    // A clamp hides a number that is not finite: the sum does not, and the step is rejected.
#pragma unroll
    for (int d = 0; MAY_OVERFLOW && d < DIM; d++) some[0] += record[d] - record[d];
    to_variables(record, variables);
    to_statistic(variables, statistic);
#pragma unroll
    for (int k = 0; k < STATS; k++)
      if (is_carried(k)) some[k] += statistic[k];
  });
  float new_residual[STATS];
  set_residual(published, totals, new_residual);
#pragma unroll
  for (int k = 0; k < STATS; k++)
    if (!is_carried(k)) new_residual[k] = residual[k];
  float new_cost = cost_of(new_residual);
  double new_prior = log_prior(new_free);
  log_ratio += new_prior - prior + 0.69314718055994531 * ((double)cost - new_cost);
  float own_probability = log_ratio >= 0.0 ? 1.0f : exp2f((float)(1.4426950408889634 * log_ratio));
  if (!(own_probability >= 0.0f)) own_probability = 0.0f;
  if (!walks) probability += own_probability;
  bool is_accepted = draw_uniform(dice) <= own_probability;
  if (is_accepted) {
#pragma unroll
    for (int i = 0; i < PARAMETERS; i++) free[i] = new_free[i];
#pragma unroll
    for (int k = 0; k < STATS; k++) residual[k] = new_residual[k];
    cost = new_cost;
    prior = new_prior;
    current = to;
  }
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
