// ---- The shapes of a beta or Dirichlet distribution given the records, which are their sums of logarithms.

// The log density of free.
__device__ double log_conditional(const Given& given, const double* free) {
  double n = number_of(given.sums), sum = log_prior(free), all = 0.0;
  for (int k = 0; k < PARAMETERS; k++) {
    double shape = exp(free[k]);
    all += shape;
    sum += shape * given.sums[k] - n * lgamma(shape);
  }
  sum += n * lgamma(all);
  return sum == sum ? sum : -1.0 / 0.0;
}

// It, its gradient and the rows of the lower triangle of its second derivatives.
__device__ void differentiate(const Given& given, const double* free, double* out) {
  double n = number_of(given.sums), shape[PARAMETERS], all = 0.0;
  for (int k = 0; k < PARAMETERS; k++) all += shape[k] = exp(free[k]);
  double level = digamma(all), curved = n * trigamma(all);
  out[0] = log_conditional(given, free);
  for (int i = 0; i < PARAMETERS; i++) {
    double slope = n * (level - digamma(shape[i])) + given.sums[i] - prior_rate(i);
    out[1 + i] = prior_shape(i) + shape[i] * slope;
    double* row = out + 1 + PARAMETERS + i * (i + 1) / 2;
    for (int j = 0; j < i; j++) row[j] = shape[i] * shape[j] * curved;
    row[i] = shape[i] * slope + shape[i] * shape[i] * (curved - n * trigamma(shape[i]));
  }
}
