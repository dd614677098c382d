// ---- Model: a record is a category from 0 up, with a Dirichlet prior of the probabilities.

constexpr int SUMS = PARAMETERS;

// What a record is drawn with: the probability of all categories up to each.
struct Drawer { float up_to[PARAMETERS]; };

__device__ __forceinline__ Drawer drawer(const double* free) {
  Drawer d;
  double sum = 0.0;
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) d.up_to[k] = (float)(sum += exp(free[k]));
  return d;
}

__device__ __forceinline__ void make_record(
    const Drawer& d, const float*, const float* uniforms, const Dice&, float* record) {
  float category = 0.0f;
#pragma unroll
  for (int k = 0; k + 1 < PARAMETERS; k++) category += d.up_to[k] < uniforms[0] ? 1.0f : 0.0f;
  record[0] = category;
}

// The number of records of each category.
__device__ __forceinline__ void add_sums(const float* record, float* sums) {
#pragma unroll
  for (int k = 0; k < PARAMETERS; k++) sums[k] += record[0] == (float)k ? 1.0f : 0.0f;
}

__device__ __forceinline__ double log_prior(const double*) { return 0.0; }

// The centred update: an exact draw of theta given the counts, by gammas on the log scale.
__device__ __forceinline__ void update_theta(
    const double* sums, const float*, u32, double* free, Dice& dice) {
#pragma unroll 1
  for (int k = 0; k < PARAMETERS; k++) free[k] = log_gamma_draw(prior(k) + sums[k], dice);
  double shift = log_of_sum(free, PARAMETERS);
  for (int k = 0; k < PARAMETERS; k++) free[k] -= shift;
}
