// ---- free are the logarithms of theta.

__device__ __forceinline__ void to_free(const double* theta, double* free) {
  for (int k = 0; k < PARAMETERS; k++) free[k] = log(theta[k]);
}

__device__ __forceinline__ void from_free(const double* free, double* theta) {
  for (int k = 0; k < PARAMETERS; k++) theta[k] = exp(free[k]);
}
