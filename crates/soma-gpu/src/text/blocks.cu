// ---- A sweep of SOMA: RECORDS moves, each of one record of a block of BLOCK records. LANES threads share a
// chain; record i of a block is in slot i / LANES of lane i % LANES. Blocks follow each other and get as many moves
// as they have records; with OWN_BLOCK each move has the next BLOCK records, and the first follows the last, or,
// SCATTERED, BLOCK records at random.
//
// With w_i the weight after the proposal has replaced record i of the block, w_0 the weight as
// things stand and W the sum of all w_i: place i is chosen with probability w_i / W and accepted
// with probability min(1, W / (W - w_i + w_0)).

__device__ __forceinline__ float from_lane(float value, int lane) {
  return LANES == 1 ? value : __shfl_sync(EVERY_LANE, value, lane, LANES);
}

__device__ __forceinline__ u32 from_lane(u32 value, int lane) {
  return LANES == 1 ? value : __shfl_sync(EVERY_LANE, value, lane, LANES);
}

__device__ __forceinline__ void meet_lanes() {
  if (LANES > 1) __syncwarp();
}

// Whether every block has as many records.
__device__ __forceinline__ constexpr bool is_whole(int block) { return OWN_BLOCK || RECORDS % block == 0; }

// The places of the records of a block: from `start` on, or scattered.
struct Places { u32 start, at[SCATTERED ? BLOCK : 1]; };

// The place of record i of a block.
__device__ __forceinline__ u32 place_of(const Places& places, u32 i) {
  if (SCATTERED) return places.at[i];
  u32 place = places.start + i;
  return OWN_BLOCK && place >= RECORDS ? place - RECORDS : place;
}

// The random words of scattered places, between those of the theta updates and of carried records.
constexpr u32 SCATTERING = 0xa0000000u;

// Different places for move `turn`, each set of BLOCK of them with the same probability (Floyd; Bentley and Floyd 1987).
__device__ void scatter(const Stream& stream, u32 turn, Places& places) {
  Words words;
#pragma unroll 1
  for (u32 i = 0; i < (SCATTERED ? BLOCK : 0); i++) {
    if (i % 4 == 0) words = draw_words(stream, SCATTERING + turn * ((BLOCK + 3) / 4) + i / 4);
    u32 last = RECORDS - BLOCK + i, place = __umulhi(words.x[i % 4], last + 1);
    bool is_there = false;
    for (u32 j = 0; j < i; j++) is_there = is_there || places.at[j] == place;
    places.at[i] = is_there ? last : place;
  }
}

// Fills the slots of this lane with a block, and carries its records. A slot without a record gets variables
// whose weight is 0.
__device__ __forceinline__ void load_block(
    float* records, u32 lane, bool is_chain, const Places& places, const Carrier& pending) {
#pragma unroll 5
  for (u32 j = 0; j < PER_LANE; j++) {
    u32 i = j * LANES + lane;
    float variables[VARIABLES];
#pragma unroll
    for (int d = 0; d < VARIABLES; d++) variables[d] = 1e18f;
    if ((BLOCK % LANES == 0 || i < BLOCK) && (is_whole(BLOCK) || places.start + i < RECORDS)) {
      float record[DIM];
      load_record(records, place_of(places, i), record);
      if (NON_CENTRED > 0 && !OWN_BLOCK) {
        carry_held(pending, places.start + i, record);
        if (is_chain) store_record(records, places.start + i, record, FIRST_CARRIED);
      }
      to_variables(record, variables);
    }
    store_slot(j, threadIdx.x, variables);
  }
}

// Whether the slots stay valid from sweep to sweep: one block, and no update of theta that carries it.
constexpr bool STAYS = BLOCK == RECORDS && NON_CENTRED == 0;

// What a sweep expects to find.
__device__ __forceinline__ void prepare(float* records, u32 lane, bool is_chain) {
  if (STAYS) load_block(records, lane, is_chain, Places{}, no_carrier());
  meet_lanes();
}

// Sums the records of the block that this lane holds. `summed` records are in `some` already.
__device__ __forceinline__ void sum_block(
    const float* records, u32 lane, u32 start, float (&some)[SUMMED], int& summed, Totals& totals) {
#pragma unroll 1
  for (int base = 0; base < PER_LANE; base += AT_ONCE) {
    int count = PER_LANE - base < AT_ONCE ? PER_LANE - base : AT_ONCE;
    if (summed + count > AT_ONCE) {
      totals.take(some);
      summed = 0;
    }
    summed += count;
#pragma unroll 4
    for (int j = base; j < base + count; j++) {
      u32 i = j * LANES + lane;
      if ((BLOCK % LANES == 0 || i < BLOCK) && (RECORDS % BLOCK == 0 || start + i < RECORDS)) {
        float record[DIM], variables[VARIABLES];
        load_record(records, start + i, record);
        load_slot(j, threadIdx.x, variables);
        add_record(record, variables, some);
      }
    }
  }
}

// Weights are 2^-cost as they are. For many statistics, whose costs are far from 0, and for slots, where the cost of the
// number of records may be, they are relative to w_0: that is one more instruction for each weight.
constexpr bool FROM_ZERO = STATS <= 32 && !SLOTTED;

__device__ __forceinline__ float weight(float cost, float current_cost) {
  return exp2f(FROM_ZERO ? -cost : current_cost - cost);
}

// What a move has chosen: the record in slot `slot` of lane `owner`. Weights are relative to
// 2^-shift: `all` is W and `current` is w_0.
struct Choice { float all, current, shift; u32 owner, slot; };

// The sum `all` of `total` over the lanes, the lane `owner` where the sum from the first lane on passes
// fraction * all, and what is left of that for the slots of this lane.
__device__ __forceinline__ float aim_at(float total, float fraction, u32 lane, float& all, u32& owner) {
  if constexpr (LANES == 1) {
    all = total, owner = 0;
    return fraction * all;
  } else if constexpr (LANES == 2) {
    float other = __shfl_xor_sync(EVERY_LANE, total, 1, LANES), first = lane == 0 ? total : other;
    all = total + other;
    float aim = fraction * all;
    owner = first <= aim ? 1 : 0;
    return lane == 0 ? aim : aim - first;
  } else {
    float inclusive = total;
#pragma unroll
    for (int step = 1; step < LANES; step *= 2) {
      float other = __shfl_up_sync(EVERY_LANE, inclusive, step, LANES);
      if (lane >= step) inclusive += other;
    }
    all = from_lane(inclusive, LANES - 1);
    float aim = fraction * all, below = __shfl_up_sync(EVERY_LANE, inclusive, 1, LANES);
    u32 past = __ballot_sync(EVERY_LANE, inclusive <= aim);
    owner = __popc((past >> (threadIdx.x % 32 / LANES * LANES)) & (0xffffffffu >> (32 - LANES)));
    owner = owner < LANES ? owner : LANES - 1;
    return lane == 0 ? aim : aim - below;
  }
}

// Chooses relative to the largest weight, where the weights over- or underflow, as in burn-in. Loops are not
// unrolled, to keep the code of the common path in the instruction cache.
__device__ __forceinline__ void choose_again(
    const float* apart, float cost, bool is_lost, float fraction, u32 lane, Choice& choice) {
  float variables[VARIABLES], least = 3e38f;
#pragma unroll 1
  for (u32 j = 0; j < PER_LANE; j++) {
    load_slot(j, threadIdx.x, variables);
    least = fminf(least, cost_after(apart, variables));
  }
  for (int step = 1; step < LANES; step *= 2) least = fminf(least, __shfl_xor_sync(EVERY_LANE, least, step, LANES));
  choice.shift = is_lost ? least : choice.shift;
  choice.current = exp2f(choice.shift - cost);
  float total = 0.0f;
#pragma unroll 1
  for (u32 j = 0; j < PER_LANE; j++) {
    load_slot(j, threadIdx.x, variables);
    total += exp2f(choice.shift - cost_after(apart, variables));
  }
  float local = aim_at(total, fraction, lane, choice.all, choice.owner);
  total = 0.0f;
  u32 slot = 0;
#pragma unroll 1
  for (u32 j = 0; j < PER_LANE; j++) {
    load_slot(j, threadIdx.x, variables);
    total += exp2f(choice.shift - cost_after(apart, variables));
    slot += total <= local ? 1u : 0u;
  }
  choice.slot = from_lane(slot, choice.owner);
}

// The number of sums that are not above `aim`, of sums that do not fall. Halves the window in
// registers: COUNT selections, where a comparison with each sum takes two instructions.
template <int COUNT>
__device__ __forceinline__ u32 search(const float* up_to, float aim) {
  if constexpr (COUNT == 1) {
    return up_to[0] <= aim ? 1u : 0u;
  } else {
    constexpr int HALF = COUNT / 2, REST = COUNT - HALF;
    float window[REST];
    bool is_past = up_to[HALF - 1] <= aim;
#pragma unroll
    for (int j = 0; j < REST; j++) window[j] = is_past ? up_to[HALF + j] : up_to[j];
    return (is_past ? (u32)HALF : 0u) + search<REST>(window, aim);
  }
}

__device__ __forceinline__ Choice choose(const float* apart, float cost, float fraction, u32 lane) {
  float up_to[PER_LANE], total = 0.0f;
#pragma unroll
  for (int j = 0; j < PER_LANE; j += 4) {
    float variables[4][VARIABLES];
    if (j + 4 <= SLOTS) load_four(j / 4, variables);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (j + k >= PER_LANE) break;
      if (j + 4 > SLOTS) load_slot(j + k, threadIdx.x, variables[k]);
      total += weight(cost_after(apart, variables[k]), cost);
      up_to[j + k] = total;
    }
  }
  Choice choice;
  choice.shift = FROM_ZERO ? 0.0f : cost;
  choice.current = FROM_ZERO ? exp2f(-cost) : 1.0f;
  float local = aim_at(total, fraction, lane, choice.all, choice.owner);
  // The slot with up_to[slot - 1] <= local < up_to[slot].
  choice.slot = from_lane(search<PER_LANE>(up_to, local), choice.owner);
  bool is_lost = FROM_ZERO ? !(choice.all >= 1e-30f) : !(choice.all <= 1e37f);
  if (LANES > 1 ? __any_sync(EVERY_LANE, is_lost) : is_lost) choose_again(apart, cost, is_lost, fraction, lane, choice);
  return choice;
}

// Gives the number of accepted moves. `pending` is what the last theta updates did to the records: a
// block is carried when it is loaded. The final records are summed, block after block.
__device__ __forceinline__ u32 sweep(
    const Params& p, const Stream& stream, u32 chain, u32 lane, bool is_chain, float* records, const Drawer& d,
    const Carrier& pending, float (&residual)[STATS], float& cost, Totals& totals) {
  u32 accepted = 0, column = threadIdx.x - lane;
  Places places = {};
  float some[SUMMED] = {};
  int summed = 0;
  if (BLOCK < RECORDS) totals.clear();
#pragma unroll 1
  for (u32 first = 0; first < MOVES; first += 2 * LANES) {
    Proposals two = propose_two(stream, first / 2 + lane, d);
    // A move of many weights is not unrolled twice: its code has to stay in the instruction cache.
#pragma unroll (PER_LANE <= 16 ? 2 : 1)
    for (u32 h = 0; h < 2; h++) {
#pragma unroll 1
      for (u32 source = 0; source < LANES; source++) {
        u32 turn = first + h * LANES + source;
        if (MOVES % (2 * LANES) != 0 && turn >= MOVES) break;
        if (!STAYS && (OWN_BLOCK || turn % BLOCK == 0)) {
          meet_lanes();
          if (!OWN_BLOCK && BLOCK < RECORDS && turn > 0) sum_block(records, lane, places.start, some, summed, totals);
          places.start = OWN_BLOCK ? turn * BLOCK % RECORDS : turn;
          if (SCATTERED) scatter(stream, turn, places);
          load_block(records, lane, is_chain, places, pending);
          meet_lanes();
        }
        float variables[VARIABLES], statistic[STATS], apart[STATS];
#pragma unroll
        for (int k = 0; k < VARIABLES; k++) variables[k] = from_lane(two.variables[0][k], source);
        to_statistic(variables, statistic);
#pragma unroll
        for (int k = 0; k < STATS; k++) apart[k] = residual[k] - statistic[k];
        float fraction = from_lane(two.choose[0], source);
        float accept = from_lane(two.accept[0], source);
        Choice choice = choose(apart, cost, fraction, lane);

        // Sums that round may point behind the last record: nothing is accepted then.
        u32 within = choice.slot * LANES + choice.owner;
        bool is_place = choice.slot < PER_LANE && (BLOCK % LANES == 0 || within < BLOCK);
        u32 place = place_of(places, SCATTERED && !is_place ? 0 : within);
        is_place = is_place && (is_whole(BLOCK) || place < RECORDS);
        u32 slot = is_place ? choice.slot : 0;
        float old[VARIABLES], next[STATS];
        load_slot(slot, column + choice.owner, old);
        add_statistic(apart, old, next);
        float next_cost = cost_of(next);
        float excess = fmaxf(choice.current - exp2f(choice.shift - next_cost), 0.0f);
        bool is_accepted = is_place && accept * (choice.all + excess) <= choice.all;
        meet_lanes();
        if (is_accepted) {
#pragma unroll
          for (int k = 0; k < STATS; k++) residual[k] = next[k];
          cost = next_cost;
          accepted++;
          if (lane == source) {
            store_slot(slot, column + choice.owner, variables);
            if (is_chain) store_record(records, place, two.record[0], 0);
          }
        }
        meet_lanes();
        if (FROZEN && lane == source && is_chain) report(p, chain, is_accepted, place, two.record[0]);
      }
#pragma unroll
      for (int k = 0; k < DIM; k++) two.record[0][k] = two.record[1][k];
#pragma unroll
      for (int k = 0; k < VARIABLES; k++) two.variables[0][k] = two.variables[1][k];
      two.choose[0] = two.choose[1];
      two.accept[0] = two.accept[1];
    }
  }
  if (OWN_BLOCK) return accepted;
  if (BLOCK == RECORDS) totals.clear();
  sum_block(records, lane, places.start, some, summed, totals);
  totals.take(some);
  return accepted;
}
