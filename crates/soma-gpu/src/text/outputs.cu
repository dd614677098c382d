// ---- The values of a draw: theta.

__device__ __forceinline__ void fill_outputs(const double* theta, const float*, u32, double* out) {
#pragma unroll
  for (int k = 0; k < OUTPUTS; k++) out[k] = theta[k];
}
