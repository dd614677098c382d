// The log density of free given the records, which are their sums of logarithms.
__device__ double log_conditional(const Given& given, const double* free) {
  double a = exp(free[0]), b = exp(free[1]);
  double sum = log_prior(free) + RECORDS * (lgamma(a + b) - lgamma(a) - lgamma(b)) + a * given.sums[0] + b * given.sums[1];
  return sum == sum ? sum : -1.0 / 0.0;
}

// It, its gradient and the rows of the lower triangle of its second derivatives.
__device__ void differentiate(const Given& given, const double* free, double* out) {
  double shape[2] = {exp(free[0]), exp(free[1])}, both = digamma(shape[0] + shape[1]);
  double curved = RECORDS * trigamma(shape[0] + shape[1]);
  out[0] = log_conditional(given, free);
  for (int k = 0; k < 2; k++) {
    double slope = RECORDS * (both - digamma(shape[k])) + given.sums[k] - prior_rate(k);
    out[1 + k] = prior_shape(k) + shape[k] * slope;
    out[k == 0 ? 3 : 5] = shape[k] * slope + shape[k] * shape[k] * (curved - RECORDS * trigamma(shape[k]));
  }
  out[4] = shape[0] * shape[1] * curved;
}
