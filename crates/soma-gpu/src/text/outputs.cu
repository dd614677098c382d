// ---- The values of a draw: theta, and the number of records where it is unknown.

__device__ __forceinline__ void fill_outputs(const double* theta, const float*, u32, double* out) {
#pragma unroll
  for (int k = 0; k < OUTPUTS - (SLOTTED ? 1 : 0); k++) out[k] = theta[k];
}
