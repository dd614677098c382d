// ---- Functions of the language of models, in both precisions.

__device__ __forceinline__ float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }

__device__ __forceinline__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

__device__ __forceinline__ float normal_cdf(float x) { return 0.5f * erfcf(-0.70710678f * x); }

__device__ __forceinline__ double normal_cdf(double x) { return 0.5 * erfc(-0.70710678118654752 * x); }

// The logarithm of the sum of numbers that have these logarithms.
__device__ __forceinline__ double log_of_sum(const double* logs, int count) {
  double largest = -1.0 / 0.0, total = 0.0;
  for (int k = 0; k < count; k++) largest = fmax(largest, logs[k]);
  for (int k = 0; k < count; k++) total += exp(logs[k] - largest);
  return largest + log(total);
}

// The derivatives of lgamma for x > 0: recurrence, then the asymptotic series.
__device__ double digamma(double x) {
  double shift = 0.0;
  for (; x < 10.0; x += 1.0) shift -= 1.0 / x;
  double v = 1.0 / (x * x);
  double series = v * (1.0 / 12.0 - v * (1.0 / 120.0 - v * (1.0 / 252.0
      - v * (1.0 / 240.0 - v * (1.0 / 132.0 - v * (691.0 / 32760.0 - v / 12.0))))));
  return shift + log(x) - 0.5 / x - series;
}

__device__ double trigamma(double x) {
  double shift = 0.0;
  for (; x < 10.0; x += 1.0) shift += 1.0 / (x * x);
  double v = 1.0 / (x * x);
  double series = v * (1.0 / 6.0 - v * (1.0 / 30.0 - v * (1.0 / 42.0 - v * (1.0 / 30.0 - v * 5.0 / 66.0))));
  return shift + (1.0 + 0.5 / x + series) / x;
}
