// ---- Proposals: records drawn from the model, two from one set of random words.

constexpr int MOVES = FROZEN ? 1 : RECORDS;
constexpr int UNIFORMS = BLOCK > 1 || RANDOM_PLACE ? 2 : 1;
constexpr int CALLS = (2 * NOISE + 2 * UNIFORMS + 3) / 4;

struct Proposals {
  float record[2][DIM], variables[2][DIM];
  float accept[2], choose[2];
  u32 place[2];  // with RANDOM_PLACE
};

__device__ __forceinline__ Proposals propose_two(const Stream& stream, u32 number, const Drawer& d) {
  u32 word[4 * CALLS];
#pragma unroll
  for (int call = 0; call < CALLS; call++) {
    Words words = draw_words(stream, number * CALLS + call);
#pragma unroll
    for (int k = 0; k < 4; k++) word[4 * call + k] = words.x[k];
  }
  float noise[2 * NOISE];
#pragma unroll
  for (int k = 0; k < NOISE; k++) {
    if (NORMAL_NOISE) two_normals(word[2 * k], word[2 * k + 1], noise[2 * k], noise[2 * k + 1]);
    else noise[2 * k] = uniform(word[2 * k]), noise[2 * k + 1] = uniform(word[2 * k + 1]);
  }
  Proposals two;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    make_record(d, noise + h * NOISE, two.record[h]);
    to_variables(two.record[h], two.variables[h]);
    two.accept[h] = uniform(word[2 * NOISE + h]);
    two.choose[h] = UNIFORMS == 2 ? uniform(word[2 * NOISE + 2 + h]) : 0.0f;
    two.place[h] = RANDOM_PLACE ? __umulhi(word[2 * NOISE + 2 + h], RECORDS) : 0u;
  }
  return two;
}

// With FROZEN: what became of the proposal.
__device__ __forceinline__ void report(const Params& p, u32 chain, bool is_accepted, u32 place, const float* record) {
  p.places[chain] = is_accepted ? (int)place : -1;
  for (int d = 0; d < DIM; d++) p.proposals[(u64)d * p.stride + chain] = record[d];
}
