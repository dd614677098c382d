// ---- The probabilities of the cells have a Dirichlet prior and are integrated out, so that the counts are
// Dirichlet-multinomial. They are drawn, given the counts, for each draw that is kept.

// The log density of a cell's count, up to what depends on all of them.
__device__ __forceinline__ double log_count(const double*, int cell, double count) {
  return lgamma(count + prior(cell)) - lgamma(count + 1.0);
}

// What the counts' density has of n, with the prior of n.
__device__ __forceinline__ double log_size(double n) { return lgamma(n + 1.0) - lgamma(n + PRIOR_SUM) + log_prior_of_n(n); }

__device__ __forceinline__ void find_log_shares(const double*, double*) {}

__device__ __forceinline__ void first_shares(const double* theta, double* shares) {
  for (int k = 0; k < CELLS; k++) shares[k] = theta[k];
}

__device__ __forceinline__ void update_theta(const float*, double*, double*, Dice&) {}

// The probabilities given the counts, by gammas on the log scale.
__device__ void draw_shares(const float* counts, const double*, double* out, Dice& dice) {
  for (int k = 0; k < CELLS; k++) out[k] = log_gamma_draw(prior(k) + counts[k * TILE], dice);
  double shift = log_of_sum(out, CELLS);
  for (int k = 0; k < CELLS; k++) out[k] = exp(out[k] - shift);
}
