// ---- Imputation of the records. LANES threads share a chain; record i of a block is in slot
// i / LANES of lane i % LANES. Residuals are in units of the noise, costs in bits: the weight of a
// cost c is 2^-c.

struct Params {
  const double* published;  // [release][STATS]: the published sums, less offsets, in units of the noise
  float* records;           // [record][DIM][stride]
  double* theta;            // [PARAMETERS][stride]: as a user reads it before soma_start, free after it
  double* tuning;           // [TUNING][stride]
  float* draws;             // [draw][PARAMETERS + 1][stride]: theta, and the cost in nats
  u64* counts;              // [2][stride]: moves and theta moves accepted after warm-up
  u32* failed;              // [stride]: one more than the iteration where numbers overflowed, or 0
  int* places;              // [stride]: with FROZEN, the place that the proposal took, or -1
  float* proposals;         // [DIM][stride]: with FROZEN, the proposal
  u64 seed, first_chain, iteration, warmup;
  u32 iterations, thin, chains, stride, chains_per_release;
  float zero;
};

constexpr u32 EVERY_LANE = 0xffffffffu;
constexpr int PER_LANE = (BLOCK + LANES - 1) / LANES;
constexpr int MOVES = FROZEN ? 1 : RECORDS;
constexpr bool IN_ORDER = BLOCK == 1 && LANES == 1 && !RANDOM_PLACE;
constexpr int UNIFORMS = BLOCK > 1 || RANDOM_PLACE ? 2 : 1;
constexpr int CALLS = (2 * NOISE + 2 * UNIFORMS + 3) / 4;

__device__ __forceinline__ float from_lane(float value, int lane) {
  return LANES == 1 ? value : __shfl_sync(EVERY_LANE, value, lane, LANES);
}

__device__ __forceinline__ u32 from_lane(u32 value, int lane) {
  return LANES == 1 ? value : __shfl_sync(EVERY_LANE, value, lane, LANES);
}

__device__ __forceinline__ double sum_of_lanes(double value) {
  for (int step = 1; step < LANES; step *= 2) value += __shfl_xor_sync(EVERY_LANE, value, step, LANES);
  return value;
}

__device__ __forceinline__ void load_record(const Params& p, u32 chain, u32 place, float* record) {
#pragma unroll
  for (int d = 0; d < DIM; d++) record[d] = p.records[(u64)(place * DIM + d) * p.stride + chain];
}

__device__ __forceinline__ void store_record(const Params& p, u32 chain, u32 place, const float* record) {
#pragma unroll
  for (int d = 0; d < DIM; d++) p.records[(u64)(place * DIM + d) * p.stride + chain] = record[d];
}

// Two proposals with the uniforms of their moves.
struct Proposals {
  float record[2][DIM], variables[2][DIM];
  u32 choose[2], accept[2];
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
    two.accept[h] = word[2 * NOISE + h];
    two.choose[h] = UNIFORMS == 2 ? word[2 * NOISE + 2 + h] : 0u;
  }
  return two;
}

// The records of the block from `start` on; a slot without a record has a weight of 0.
__device__ __forceinline__ void load_block(
    const Params& p, u32 chain, u32 lane, u32 start, float (&own)[PER_LANE][DIM]) {
#pragma unroll
  for (int j = 0; j < PER_LANE; j++) {
    u32 i = j * LANES + lane;
    if (i < BLOCK && start + i < RECORDS) {
      float record[DIM];
      load_record(p, chain, start + i, record);
      to_variables(record, own[j]);
    } else {
#pragma unroll
      for (int d = 0; d < DIM; d++) own[j][d] = 1e18f;
    }
  }
}

// The weights of the slots of this lane, relative to 2^-shift, as sums up to each.
__device__ __forceinline__ float weigh(
    const float* apart, const float (&own)[PER_LANE][DIM], float shift, float* up_to) {
  float total = 0.0f;
#pragma unroll
  for (int j = 0; j < PER_LANE; j++) {
    total += exp2f(-cost_after(apart, own[j], -shift));
    up_to[j] = total;
  }
  return total;
}

// Sums of `total` over the lanes up to this one.
__device__ __forceinline__ float sum_up_to(float total, u32 lane) {
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    float other = __shfl_up_sync(EVERY_LANE, total, step, LANES);
    if (lane >= step) total += other;
  }
  return total;
}

// A sweep: RECORDS moves of SOMA within blocks. With w_i the weight after the proposal has replaced
// record i of the block, w_0 the weight as things stand and W the sum of all w_i: place i is
// chosen with probability w_i / W and accepted with probability min(1, W / (W - w_i + w_0)).
// A block of one record is Metropolis within Gibbs with independent proposals.
__device__ __forceinline__ u32 sweep(
    const Params& p, const Stream& stream, u32 chain, u32 lane, bool is_chain, const Drawer& d,
    float (&residual)[STATS], float& cost) {
  float own[PER_LANE][DIM];
  u32 accepted = 0, start = 0;
#pragma unroll 1
  for (u32 first = 0; first < MOVES; first += 2 * LANES) {
    // Records that are met in order are loaded before the work that does not need them.
    float ahead[2][DIM];
    if (IN_ORDER) {
      load_record(p, chain, first, ahead[0]);
      load_record(p, chain, first + 1 < RECORDS ? first + 1 : first, ahead[1]);
    }
    Proposals two = propose_two(stream, first / 2 + lane, d);
#pragma unroll 1
    for (u32 source = 0; source < LANES; source++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        u32 turn = first + 2 * source + h;
        if (MOVES % (2 * LANES) != 0 && turn >= MOVES) break;
        u32 choose = UNIFORMS == 2 ? from_lane(two.choose[h], source) : 0u;
        if (RANDOM_PLACE) {
          start = __umulhi(choose, RECORDS);
          load_block(p, chain, lane, start, own);
        } else if (IN_ORDER) {
          start = turn;
          to_variables(ahead[h], own[0]);
        } else if (turn % BLOCK == 0) {
          start = turn;
          if (LANES > 1) __syncwarp();
          load_block(p, chain, lane, start, own);
        }
        float variables[DIM], statistic[STATS], apart[STATS];
#pragma unroll
        for (int k = 0; k < DIM; k++) variables[k] = from_lane(two.variables[h][k], source);
        to_statistic(variables, statistic);
#pragma unroll
        for (int k = 0; k < STATS; k++) apart[k] = residual[k] - statistic[k];

        // Weights relative to w_0; to the largest of them where these overflow, as in burn-in.
        float up_to[PER_LANE], shift = cost, current = 1.0f;
        float total = weigh(apart, own, shift, up_to);
        float inclusive = sum_up_to(total, lane);
        float all = from_lane(inclusive, LANES - 1);
        bool is_large = !(all <= 1e37f);
        if (LANES > 1 ? __any_sync(EVERY_LANE, is_large) : is_large) {
          // Nothing is added, but the compiler cannot know, and keeps no residuals for this rare path.
#pragma unroll
          for (int k = 0; k < STATS; k++) apart[k] += p.zero;
          float least = cost_after(apart, own[0], 0.0f);
#pragma unroll
          for (int j = 1; j < PER_LANE; j++) least = fminf(least, cost_after(apart, own[j], 0.0f));
          for (int step = 1; step < LANES; step *= 2)
            least = fminf(least, __shfl_xor_sync(EVERY_LANE, least, step, LANES));
          shift = is_large ? least : cost;
#pragma unroll
          for (int k = 0; k < STATS; k++) apart[k] += p.zero;
          current = exp2f(shift - cost);
          total = weigh(apart, own, shift, up_to);
          inclusive = sum_up_to(total, lane);
          all = from_lane(inclusive, LANES - 1);
        }

        // The slot with up_to[slot - 1] <= aim < up_to[slot].
        u32 owner = 0, slot = 0;
        if (BLOCK > 1) {
          float aim = uniform(choose) * all, local = aim;
          if (LANES > 1) {
            float below = __shfl_up_sync(EVERY_LANE, inclusive, 1, LANES);
            local = lane == 0 ? aim : aim - below;
            u32 past = __ballot_sync(EVERY_LANE, inclusive <= aim);
            owner = __popc((past >> (threadIdx.x % 32 / LANES * LANES)) & (0xffffffffu >> (32 - LANES)));
            owner = owner < LANES ? owner : LANES - 1;
          }
#pragma unroll
          for (int j = 0; j < PER_LANE; j++) slot += up_to[j] <= local ? 1u : 0u;
          slot = from_lane(slot, owner);
        }
        // Sums that round may point behind the last record: nothing is accepted then.
        u32 place = start + slot * LANES + owner;
        bool is_place = slot < PER_LANE && slot * LANES + owner < BLOCK && place < RECORDS;
        float old[DIM], next[STATS];
        if (PER_LANE * LANES == 1) {
#pragma unroll
          for (int k = 0; k < DIM; k++) old[k] = own[0][k];
        } else {
          float record[DIM];
          load_record(p, chain, is_place ? place : start, record);
          to_variables(record, old);
        }
        to_statistic(old, statistic);
#pragma unroll
        for (int k = 0; k < STATS; k++) next[k] = apart[k] + statistic[k];
        float next_cost = cost_of(next);
        float excess = fmaxf(current - exp2f(shift - next_cost), 0.0f);
        // Every lane takes part in a shuffle, whatever its chain does.
        float mark = uniform(from_lane(two.accept[h], source)) * (all + excess);
        bool is_accepted = is_place && all > 0.0f && mark <= all;
        if (LANES > 1) __syncwarp();
        if (is_accepted) {
#pragma unroll
          for (int k = 0; k < STATS; k++) residual[k] = next[k];
          cost = next_cost;
          accepted++;
          if (lane == source && is_chain) store_record(p, chain, place, two.record[h]);
        }
        if (BLOCK > 1) {
          u32 taken = is_accepted && lane == owner ? slot : PER_LANE;
#pragma unroll
          for (int j = 0; j < PER_LANE; j++) {
#pragma unroll
            for (int k = 0; k < DIM; k++) own[j][k] = j == taken ? variables[k] : own[j][k];
          }
        }
        if (LANES > 1) __syncwarp();
        if (FROZEN && lane == source && is_chain) {
          p.places[chain] = is_accepted ? (int)place : -1;
          for (int k = 0; k < DIM; k++) p.proposals[(u64)k * p.stride + chain] = two.record[h][k];
        }
      }
    }
  }
  if (LANES > 1) __syncwarp();
  return accepted;
}
