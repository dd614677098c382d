// ---- Model: x ~ Beta(a, b), with gamma priors of a and b. A record is stored as its logit, log x - log(1 - x),
// from which both logarithms follow, however near to an end x is.

constexpr int SUMS = 2;

// What a record is drawn with.
struct Drawer { float shape[2]; };

__device__ __forceinline__ Drawer drawer(const double* free) {
  return Drawer{{(float)exp(free[0]), (float)exp(free[1])}};
}

__device__ __forceinline__ void make_record(
    const Drawer& d, const float*, const float*, const Dice& dice, float* record) {
  Dice own = dice;
  double first = log_gamma_draw(d.shape[0], own);
  record[0] = (float)(first - log_gamma_draw(d.shape[1], own));
}

// The sums of log x and of log(1 - x).
__device__ __forceinline__ void add_sums(const float* record, float* sums) {
  sums[0] -= softplus(-record[0]);
  sums[1] -= softplus(record[0]);
}

__device__ __forceinline__ double log_prior(const double* free) {
  return prior_shape(0) * free[0] - prior_rate(0) * exp(free[0])
      + prior_shape(1) * free[1] - prior_rate(1) * exp(free[1]);
}
