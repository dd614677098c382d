// ---- What pairs of chains need of the model. Log densities are up to what is the same for both chains.

__device__ __forceinline__ float log_record(const Drawer& d, const float* record) {
  return -record[0] / d.scale - logf(d.scale);
}

__device__ __forceinline__ void redraw(const Drawer& d, Dice& dice, float* record) {
  record[0] = -0.6931472f * d.scale * __log2f(fminf(draw_uniform(dice), 0.99999994f));
}

// The log density of free given the records: gamma, in log rate.
__device__ double log_theta(const double* sums, const double* free) {
  double shape = PRIOR_SHAPE + RECORDS, rate = PRIOR_RATE + sums[0];
  return shape * (log(rate) + free[0]) - rate * exp(free[0]);
}
