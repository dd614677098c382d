// ---- Summaries of the records, where theta is fixed: for each coordinate the mean, the standard deviation and
// quantiles. A quantile is a value between two records next to each other in order.

// An integer in the same order as x.
__device__ __forceinline__ u32 ordered(float x) {
  u32 bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float unordered(u32 key) {
  return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

// Coordinate d of the record before which `rank` records come in order: bit after bit, the largest value with no
// more records below it.
__device__ double in_order(const float* records, u32 lane, int d, double rank) {
  u32 key = 0;
#pragma unroll 1
  for (int bit = 31; bit >= 0; bit--) {
    u32 trial = key | 1u << bit;
    double below = 0.0;
    for (u32 i = lane; i < RECORDS; i += LANES) below += ordered(records[(i * DIM + d) * ROW]) < trial ? 1.0 : 0.0;
    if (sum_of_lanes(below) <= rank) key = trial;
  }
  return shown(unordered(key));
}

__device__ double summary(const float* records, u32 lane, int d, int which) {
  if (quantile(which) >= 0.0) {
    double position = quantile(which) * (RECORDS - 1), low = floor(position), part = position - low;
    double first = in_order(records, lane, d, low);
    return part > 0.0 ? first * (1.0 - part) + in_order(records, lane, d, low + 1.0) * part : first;
  }
  double sum = 0.0, squares = 0.0;
  for (u32 i = lane; i < RECORDS; i += LANES) sum += shown(records[(i * DIM + d) * ROW]);
  double mean = sum_of_lanes(sum) / RECORDS;
  if (quantile(which) == MEAN_OF_RECORDS) return mean;
  for (u32 i = lane; i < RECORDS; i += LANES) {
    double gap = shown(records[(i * DIM + d) * ROW]) - mean;
    squares += gap * gap;
  }
  return sqrt(sum_of_lanes(squares) / (RECORDS > 1 ? RECORDS - 1 : 1));
}

// The values of a draw.
__device__ void fill_outputs(const double*, const float* records, u32 lane, double* out) {
  for (int d = 0; d < DIM; d++)
    for (int which = 0; which < SUMMARIES; which++) out[d * SUMMARIES + which] = summary(records, lane, d, which);
}
