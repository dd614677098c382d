// ---- Model: x ~ Exponential(rate), with a gamma prior of the rate.

constexpr int SUMS = 1;

// What a record is drawn with.
struct Drawer { float scale; };

__device__ __forceinline__ Drawer drawer(const double* free) { return Drawer{(float)exp(-free[0])}; }

__device__ __forceinline__ void make_record(
    const Drawer& d, const float*, const float* uniforms, const Dice&, float* record) {
  record[0] = -0.6931472f * d.scale * __log2f(uniforms[0]);
}

// What a change of theta does to a record with the same noise.
struct Carrier { float scale; };

__device__ __forceinline__ Carrier no_carrier() { return Carrier{1.0f}; }

__device__ __forceinline__ Carrier carrier(const Drawer& from, const Drawer& to, const Stream&) {
  return Carrier{to.scale / from.scale};
}

__device__ __forceinline__ void carry(const Carrier& c, u32, float* record) { record[0] *= c.scale; }

__device__ __forceinline__ void add_sums(const float* record, float* sums) { sums[0] += record[0]; }

// The log prior density of free, up to a constant.
__device__ __forceinline__ double log_prior(const double* free) { return PRIOR_SHAPE * free[0] - PRIOR_RATE * exp(free[0]); }

// The centred update: an exact draw of theta given the records.
__device__ __forceinline__ void update_theta(const double* sums, const float*, u32, double* free, Dice& dice) {
  free[0] = log(gamma_draw(PRIOR_SHAPE + number_of(sums), dice) / (PRIOR_RATE + sums[0]));
}
