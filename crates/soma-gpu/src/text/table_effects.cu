// ---- The log probability of a cell is a sum of effects, one of each term, up to a constant. theta is the effects, with
// normal priors.

__device__ __forceinline__ double log_count(const double* log_shares, int cell, double count) {
  return count * log_shares[cell] - lgamma(count + 1.0);
}

// What the counts' density has of n, with the prior of n.
__device__ __forceinline__ double log_size(double n) { return lgamma(n + 1.0) + log_prior_of_n(n); }

__device__ void find_log_shares(const double* theta, double* log_shares) {
  for (int cell = 0; cell < CELLS; cell++) {
    log_shares[cell] = 0.0;
    for (int term = 0; term < TERMS; term++) log_shares[cell] += theta[effect_of(cell * TERMS + term)];
  }
  double constant = log_of_sum(log_shares, CELLS);
  for (int cell = 0; cell < CELLS; cell++) log_shares[cell] -= constant;
}

__device__ void first_shares(const double* theta, double* shares) {
  find_log_shares(theta, shares);
  for (int cell = 0; cell < CELLS; cell++) shares[cell] = exp(shares[cell]);
}

__device__ double log_posterior(const float* counts, const double* theta, double* log_shares) {
  double sum = 0.0;
  for (int k = 0; k < PARAMETERS; k++) sum -= 0.5 * theta[k] * theta[k] / (effect_sd(k) * effect_sd(k));
  find_log_shares(theta, log_shares);
  for (int cell = 0; cell < CELLS; cell++) sum += counts[cell * TILE] * log_shares[cell];
  return sum;
}

// Slice moves (Neal 2003) of one effect after the other, with the standard deviation of an effect given the number of records
// that have it as width: it depends on the counts and not on theta.
constexpr int ROUNDS_OF_EFFECTS = 2;
constexpr u32 WIDEST_OF_EFFECTS = 32;

__device__ void update_theta(const float* counts, double* theta, double* log_shares, Dice& dice) {
  double precision[PARAMETERS];
  for (int k = 0; k < PARAMETERS; k++) precision[k] = 1.0 / (effect_sd(k) * effect_sd(k));
  for (int i = 0; i < CELLS * TERMS; i++) precision[effect_of(i)] += counts[i / TERMS * TILE];
  double current = log_posterior(counts, theta, log_shares);
#pragma unroll 1
  for (int turn = 0; turn < ROUNDS_OF_EFFECTS * PARAMETERS; turn++) {
    int k = turn % PARAMETERS;
    Words words = draw_words(dice.stream, dice.call++);
    double at = theta[k], width = 3.0 / sqrt(precision[k]), level = current + log((double)uniform(words.x[0]));
    double low = at - width * uniform(words.x[1]), high = low + width;
    u32 below = words.x[2] % WIDEST_OF_EFFECTS, above = WIDEST_OF_EFFECTS - 1 - below;
    auto density = [&](double x) {
      theta[k] = x;
      return log_posterior(counts, theta, log_shares);
    };
    for (; below > 0 && density(low) > level; below--) low -= width;
    for (; above > 0 && density(high) > level; above--) high += width;
    double taken = at, there = current;
    for (int trial = 0; trial < 100; trial++) {
      double x = low + (high - low) * draw_uniform(dice), found = density(x);
      if (found > level) {
        taken = x, there = found;
        break;
      }
      if (x < at) low = x;
      else high = x;
    }
    theta[k] = taken;
    current = there;
  }
  find_log_shares(theta, log_shares);
}

__device__ __forceinline__ void draw_shares(const float*, const double* log_shares, double* out, Dice&) {
  for (int cell = 0; cell < CELLS; cell++) out[cell] = exp(log_shares[cell]);
}
