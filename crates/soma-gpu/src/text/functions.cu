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

// log(1 + t) - t without cancellation for small t: log(1 + t) is twice the inverse hyperbolic tangent of v.
__device__ double log1p_less(double t) {
  if (fabs(t) > 0.5) return log1p(t) - t;
  double v = t / (2.0 + t), series = 0.0;
  for (int k = 11; k >= 0; k--) series = series * v * v + 1.0 / (2 * k + 3);
  return 2.0 * v * v * v * series - t * v;
}

// log[Gamma(s + x) / (Gamma(s) s^x)] and its derivatives by s, from the difference of Stirling's series for large s.
__device__ double log_rising(double s, double x) {
  double y = s + x, t = x / s, v = 1.0 / (s * s), w = 1.0 / (y * y);
  if (s < 16.0) return lgamma(y) - lgamma(s) - x * log(s);
  double at_s = (1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v / 1188.0)))) / s;
  double at_y = (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w / 1188.0)))) / y;
  return s * log1p_less(t) + (x - 0.5) * log1p(t) + (at_y - at_s);
}

__device__ double log_rising_slope(double s, double x) {
  double y = s + x, t = x / s, v = 1.0 / (s * s), w = 1.0 / (y * y);
  if (s < 16.0) return digamma(y) - digamma(s) - t;
  double at_s = v * (1.0 / 12.0 - v * (1.0 / 120.0 - v * (1.0 / 252.0 - v * (1.0 / 240.0 - v / 132.0))));
  double at_y = w * (1.0 / 12.0 - w * (1.0 / 120.0 - w * (1.0 / 252.0 - w * (1.0 / 240.0 - w / 132.0))));
  return log1p_less(t) + 0.5 * t / y - (at_y - at_s);
}

__device__ double log_rising_curve(double s, double x) {
  double y = s + x, t = x / s, v = 1.0 / (s * s), w = 1.0 / (y * y);
  if (s < 16.0) return trigamma(y) - trigamma(s) + t / s;
  double at_s = v / s * (1.0 / 6.0 - v * (1.0 / 30.0 - v * (1.0 / 42.0 - v * (1.0 / 30.0 - v * 5.0 / 66.0))));
  double at_y = w / y * (1.0 / 6.0 - w * (1.0 / 30.0 - w * (1.0 / 42.0 - w * (1.0 / 30.0 - w * 5.0 / 66.0))));
  return t * t / y - 0.5 * t / y * (1.0 / y + 1.0 / s) + (at_y - at_s);
}
