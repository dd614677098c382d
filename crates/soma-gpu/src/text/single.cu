// ---- A sweep of Metropolis within Gibbs with independent proposals: RECORDS moves, each of one record,
// in order or at random places. One thread has a chain.

// What a sweep expects to find: nothing.
__device__ __forceinline__ void prepare(float*, u32, bool) {}

// Gives the number of accepted moves. `pending` is what the last theta updates did to the records: each
// is carried when its turn comes. In order, the final records are summed as the sweep passes them.
__device__ __forceinline__ u32 sweep(
    const Params& p, const Stream& stream, u32 chain, u32 lane, bool is_chain, float* records, const Drawer& d,
    const Carrier& pending, float (&residual)[STATS], float& cost, Totals& totals) {
  float some[SUMMED] = {};
  u32 accepted = 0;
  if (!RANDOM_PLACE) totals.clear();
#pragma unroll 1
  for (u32 first = 0; first < MOVES; first += 2) {
    // Load before the work that does not need the records.
    float old[2][DIM];
    if (!RANDOM_PLACE) {
      load_record(records, first, old[0]);
      load_record(records, RECORDS % 2 == 0 || first + 1 < RECORDS ? first + 1 : first, old[1]);
    }
    Proposals two = propose_two(stream, first / 2, d);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (MOVES % 2 != 0 && first + h >= MOVES) break;
      u32 place = first + h;
      if (RANDOM_PLACE) {
        place = two.place[h];
        load_record(records, place, old[h]);
      } else if (NON_CENTRED > 0) {
        carry_held(pending, place, old[h]);
      }
      float variables[VARIABLES], next[STATS];
      to_variables(old[h], variables);
      replace_statistic(residual, variables, two.variables[h], next);
      float next_cost = cost_of(next);
      // uniform <= 2^(cost - next_cost). A cost that is not a number is not accepted.
      bool is_accepted = next_cost + __log2f(two.accept[h]) <= cost;
      if (is_accepted) {
#pragma unroll
        for (int k = 0; k < STATS; k++) residual[k] = next[k];
        cost = next_cost;
        accepted++;
#pragma unroll
        for (int k = 0; k < DIM; k++) old[h][k] = two.record[h][k];
#pragma unroll
        for (int k = 0; k < VARIABLES; k++) variables[k] = two.variables[h][k];
        if (is_chain) store_record(records, place, old[h], 0);
      } else if (NON_CENTRED > 0 && !RANDOM_PLACE) {
        if (is_chain) store_record(records, place, old[h], FIRST_CARRIED);
      }
      if (!RANDOM_PLACE) add_record(old[h], variables, some);
      if (FROZEN && is_chain) report(p, chain, is_accepted, place, two.record[h]);
    }
    if (!RANDOM_PLACE && (first + 2) % AT_ONCE == 0) totals.take(some);
  }
  if (!RANDOM_PLACE && RECORDS % AT_ONCE != 0) totals.take(some);
  return accepted;
}
