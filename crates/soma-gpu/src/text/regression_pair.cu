// ---- What pairs of chains need of the model. Of a record, the response depends on theta: it is drawn anew given the
// predictors. Log densities are up to what is the same for both chains.

__device__ __forceinline__ float mean_of(const Drawer& d, const float* record) {
  float mean = d.beta[0];
#pragma unroll
  for (int j = 0; j < PREDICTORS; j++) mean = fmaf(d.beta[1 + j], record[j] - centre(j), mean);
  return mean;
}

__device__ __forceinline__ float log_record(const Drawer& d, const float* record) {
  float z = (record[PREDICTORS] - mean_of(d, record)) / d.sigma;
  return -0.5f * z * z - logf(d.sigma);
}

__device__ __forceinline__ void redraw(const Drawer& d, Dice& dice, float* record) {
  float normals[1];
  draw_normals(dice, normals);
  record[PREDICTORS] = fmaf(d.sigma, normals[0], mean_of(d, record));
}

// The log density of free given the records: normal-inverse-gamma, in log sigma2.
__device__ double log_theta(const double* sums, const double* free) {
  double lower[COEFFICIENTS][COEFFICIENTS], cross[COEFFICIENTS], inverse[COEFFICIENTS];
  double rate = PRIOR_RATE + 0.5 * complete_squares(sums, lower, cross, inverse);
  double quadratic = 0.0, log_root = 0.0, shape = PRIOR_SHAPE + 0.5 * RECORDS;
  for (int i = 0; i < COEFFICIENTS; i++) {
    double value = free[i] / inverse[i] - cross[i];
    for (int j = i + 1; j < COEFFICIENTS; j++) value += lower[j][i] * free[j];
    quadratic += value * value;
    log_root -= log(inverse[i]);
  }
  double log_sigma2 = free[COEFFICIENTS];
  return log_root + shape * log(rate) - (shape + 0.5 * COEFFICIENTS) * log_sigma2
      - (rate + 0.5 * quadratic) * exp(-log_sigma2);
}
