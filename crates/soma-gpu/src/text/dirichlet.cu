// ---- Model: a record is a composition, Dirichlet(alpha), with gamma priors of the alphas. It is stored as its
// logarithms, which do not underflow.

constexpr int SUMS = PARAMETERS;

// What a record is drawn with.
struct Drawer { float shape[PARAMETERS]; };

__device__ __forceinline__ Drawer drawer(const double* free) {
  Drawer d;
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) d.shape[k] = (float)exp(free[k]);
  return d;
}

// Gammas divided by their sum, on the log scale.
__device__ __forceinline__ void make_record(
    const Drawer& d, const float*, const float*, const Dice& dice, float* record) {
  double gammas[PARAMETERS];
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) {
    Dice own = dice_of(dice, k);
    gammas[k] = log_gamma_draw(d.shape[k], own);
  }
  double shift = log_of_sum(gammas, PARAMETERS);
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) record[k] = (float)(gammas[k] - shift);
}

// The sums of the logarithms.
__device__ __forceinline__ void add_sums(const float* record, float* sums) {
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) sums[k] += record[k];
}

__device__ __forceinline__ double log_prior(const double* free) {
  double sum = 0.0;
  for (int k = 0; k < PARAMETERS; k++) sum += prior_shape(k) * free[k] - prior_rate(k) * exp(free[k]);
  return sum;
}
