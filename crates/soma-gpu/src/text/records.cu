// ---- Records in memory. Residuals are in units of the noise, costs in bits: the weight of a cost c
// is 2^-c.

constexpr u32 EVERY_LANE = 0xffffffffu;
constexpr int PER_LANE = (BLOCK + LANES - 1) / LANES;
// The sums over the records that an iteration needs: statistics, then those of the theta update, and the number of
// records where it is unknown.
constexpr int GIVEN = SUMS + (SLOTTED ? 1 : 0), SUMMED = STATS + GIVEN;
// Records that are summed in single precision before the sum is added in double precision.
constexpr int AT_ONCE = 32;

// ---- Shared memory of a block of threads: the variables of a block of records, then the records of the
// chains if they fit (RESIDENT), then sums.

extern __shared__ float4 shared_memory[];

// Slots lie four by four, [four][VARIABLES][thread][slot % 4]: a thread reads a variable of four records at
// once. Where the last slots, fewer than four, are not filled up (PADDED), they are [slot][VARIABLES][thread].
constexpr int SLOTS = BLOCK == 1 ? 0 : PADDED ? (PER_LANE + 3) / 4 * 4 : PER_LANE;
constexpr int FOURS = SLOTS / 4;
constexpr int SLOT_FLOATS = SLOTS * VARIABLES * THREADS;

__device__ __forceinline__ float* slot_of(u32 slot, u32 thread) {
  u32 in_fours = (slot / 4 * (VARIABLES * THREADS) + thread) * 4 + slot % 4;
  u32 after = FOURS * 4 * VARIABLES * THREADS + (slot - FOURS * 4) * (VARIABLES * THREADS) + thread;
  return (float*)shared_memory + (SLOTS % 4 == 0 || slot < FOURS * 4 ? in_fours : after);
}

__device__ __forceinline__ u32 slot_stride(u32 slot) {
  return SLOTS % 4 == 0 || slot < FOURS * 4 ? 4 * THREADS : THREADS;
}

__device__ __forceinline__ void load_slot(u32 slot, u32 thread, float* v) {
  const float* at = slot_of(slot, thread);
#pragma unroll
  for (int d = 0; d < VARIABLES; d++) v[d] = at[d * slot_stride(slot)];
}

__device__ __forceinline__ void store_slot(u32 slot, u32 thread, const float* v) {
  float* at = slot_of(slot, thread);
#pragma unroll
  for (int d = 0; d < VARIABLES; d++) at[d * slot_stride(slot)] = v[d];
}

// Four slots of this thread from slot 4 `four` on.
__device__ __forceinline__ void load_four(int four, float (&v)[4][VARIABLES]) {
#pragma unroll
  for (int d = 0; d < VARIABLES; d++) {
    float4 each = shared_memory[(four * VARIABLES + d) * THREADS + threadIdx.x];
    v[0][d] = each.x, v[1][d] = each.y, v[2][d] = each.z, v[3][d] = each.w;
  }
}

// ---- Records of a chain: [record][DIM][ROW], in shared memory or in tiles of 32 chains in global memory. A
// warp reads lines of 128 bytes at offsets that are known to the compiler.

constexpr u32 ROW = RESIDENT ? THREADS : TILE;
constexpr int RECORD_FLOATS = RESIDENT ? RECORDS * DIM * THREADS : 0;

__device__ __forceinline__ float* records_of(const Params& p, u32 chain) {
  if constexpr (RESIDENT) return (float*)shared_memory + SLOT_FLOATS + threadIdx.x;
  else return tile_of(p, chain);
}

__device__ __forceinline__ void load_record(const float* records, u32 place, float* record) {
#pragma unroll
  for (int d = 0; d < DIM; d++) record[d] = records[(place * DIM + d) * ROW];
}

// Stores the coordinates from `from` on.
__device__ __forceinline__ void store_record(float* records, u32 place, const float* record, int from) {
#pragma unroll
  for (int d = from; d < DIM; d++) records[(place * DIM + d) * ROW] = record[d];
}

// Between the two places that records can be in, at the beginning and at the end of a launch.
__device__ __forceinline__ void bring_records(const Params& p, u32 chain, float* records) {
  const float* tile = tile_of(p, chain);
#pragma unroll 8
  for (u32 i = 0; RESIDENT && i < RECORDS * DIM; i++) records[i * ROW] = tile[i * TILE];
}

__device__ __forceinline__ void return_records(const Params& p, u32 chain, const float* records) {
  float* tile = tile_of(p, chain);
#pragma unroll 8
  for (u32 i = 0; RESIDENT && i < RECORDS * DIM; i++) tile[i * TILE] = records[i * ROW];
}

// ---- Sums over the records of a chain, in double precision. A sweep of many blocks adds to them now and
// then, so that they are better in shared memory than in registers.

constexpr bool IN_SHARED = BLOCK < RECORDS && !RESIDENT;

struct Totals {
  double own[IN_SHARED ? 1 : SUMMED];

  __device__ __forceinline__ double& at(int k) {
    if constexpr (IN_SHARED)
      return ((double*)((float*)shared_memory + SLOT_FLOATS + RECORD_FLOATS))[k * THREADS + threadIdx.x];
    else
      return own[k];
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int k = 0; k < SUMMED; k++) at(k) = 0.0;
  }

  // Moves `some`, sums in single precision, over to the totals.
  __device__ __forceinline__ void take(float (&some)[SUMMED]) {
#pragma unroll
    for (int k = 0; k < SUMMED; k++) {
      at(k) += some[k];
      some[k] = 0.0f;
    }
  }
};

__device__ __forceinline__ void add_record(const float* record, const float* variables, float (&some)[SUMMED]) {
  float statistic[STATS];
  to_statistic(variables, statistic);
#pragma unroll
  for (int k = 0; k < STATS; k++) some[k] += statistic[k];
  if constexpr (SLOTTED) {
    if (!is_held(record)) return;
    add_sums(record + 1, some + STATS);
    some[SUMMED - 1] += 1.0f;
  } else {
    add_sums(record, some + STATS);
  }
}

// Carries a record, where there is one.
__device__ __forceinline__ void carry_held(const Carrier& c, u32 place, float* record) {
  if constexpr (!SLOTTED) carry(c, place, record);
  else if (is_held(record)) carry(c, place, record + 1);
}

__device__ __forceinline__ double sum_of_lanes(double value) {
  for (int step = 1; step < LANES; step *= 2) value += __shfl_xor_sync(EVERY_LANE, value, step, LANES);
  return value;
}
