// ---- Proposals: records drawn from the model, two from one set of random words.

constexpr int MOVES = FROZEN ? 1 : RECORDS;
// Random words of a proposal: for the record, to accept, and to choose a place. Where slots hold the records, one
// says whether there is a record.
constexpr int NOISE = NORMALS + UNIFORMS + (SLOTTED ? 1 : 0);
constexpr bool CHOOSES = BLOCK > 1 || RANDOM_PLACE;
constexpr int CALLS = (2 * NOISE + (CHOOSES ? 4 : 2) + 3) / 4;
// The first call of draws that reject: behind those of the proposals, before those of the theta updates.
constexpr u32 REJECTIONS = 0x40000000u;

struct Proposals {
  float record[2][DIM], variables[2][VARIABLES];
  float accept[2], choose[2];
  u32 place[2];  // with RANDOM_PLACE
};

// Whether all numbers of a record are in the range of single precision. A clamp hides one that is not, so a proposal
// with such a number is never accepted.
__device__ __forceinline__ bool is_in_range(const float* record) {
  float gaps = 0.0f;
#pragma unroll
  for (int d = 0; MAY_OVERFLOW && d < DIM; d++) gaps += record[d] - record[d];
  return gaps == 0.0f;
}

__device__ __forceinline__ Proposals propose_two(const Stream& stream, u32 number, const Drawer& d) {
  u32 word[4 * CALLS];
#pragma unroll
  for (int call = 0; call < CALLS; call++) {
    Words words = draw_words(stream, number * CALLS + call);
#pragma unroll
    for (int k = 0; k < 4; k++) word[4 * call + k] = words.x[k];
  }
  float normals[2 * NORMALS + 1], uniforms[2 * UNIFORMS + 1];
#pragma unroll
  for (int k = 0; k < NORMALS; k++) two_normals(word[2 * k], word[2 * k + 1], normals[2 * k], normals[2 * k + 1]);
#pragma unroll
  for (int k = 0; k < 2 * UNIFORMS; k++) uniforms[k] = fminf(uniform(word[2 * NORMALS + k]), 0.99999994f);
  Proposals two;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    Dice dice{stream, REJECTIONS + (2 * number + h) * (REJECTING * SPAN)};
    float* record = two.record[h] + (SLOTTED ? 1 : 0);
    make_record(d, normals + h * NORMALS, uniforms + h * UNIFORMS, dice, record);
    if constexpr (SLOTTED) {
      bool is_there = uniform(word[2 * NOISE - 2 + h]) <= SHARE;
      two.record[h][0] = is_there ? 1.0f : 0.0f;
      for (int k = 0; k < COORDINATES; k++) record[k] = is_there ? record[k] : 0.0f;
    }
    to_variables(two.record[h], two.variables[h]);
    two.accept[h] = is_in_range(two.record[h]) ? uniform(word[2 * NOISE + h]) : 1.0f / 0.0f;
    two.choose[h] = CHOOSES ? uniform(word[2 * NOISE + 2 + h]) : 0.0f;
    two.place[h] = RANDOM_PLACE ? __umulhi(word[2 * NOISE + 2 + h], RECORDS) : 0u;
  }
  return two;
}

// With FROZEN: what became of the proposal.
__device__ __forceinline__ void report(const Params& p, u32 chain, bool is_accepted, u32 place, const float* record) {
  p.places[chain] = is_accepted ? (int)place : -1;
  for (int d = 0; d < DIM; d++) p.proposals[(u64)d * p.stride + chain] = record[d];
}
