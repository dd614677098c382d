//! Slots: where n is unknown, each place holds a record or is empty, as on the CPU.
//!
//! The first number of a place is 1 or 0, and the record comes after it. A proposal is a record with a probability that
//! the release determines, and the cost of the number of records makes up for it.

use soma::Invalid;
use soma::release::Release;

use super::model::table;
use super::unfit;

/// The most slots: the cost of each number of records is in a table.
const MOST_SLOTS: usize = 4095;

/// What the text says of slots, for a release whose theta update has `sums` sums.
pub(super) fn text(release: &Release, sums: usize) -> Result<String, Invalid> {
    let Some(slotted) = release.slotted() else { return Ok(none()) };
    let slots = release.n();
    if slots > MOST_SLOTS {
        let given = format!("unknown, with {slots} slots for records");
        return Err(unfit("release.n", given, format!("up to {MOST_SLOTS} slots, or a public n")));
    }
    let size = release.potential().coordinate(release.query().dim() - 1);
    let cost = |n: usize| size.map_or(0.0, |size| size.cost(-(n as f64)));
    let costs: Vec<f64> =
        (0..=slots).map(|n| (cost(n) * std::f64::consts::LOG2_E).min(NEVER)).collect();
    Ok(format!(
        "// A place is a slot: its first number is 1 if it holds a record, which comes after it, and 0 if it is empty.\n\
         constexpr bool SLOTTED = true;\n\
         constexpr int COORDINATES = DIM - 1;\n\
         // The probability that a proposal is a record.\n\
         constexpr float SHARE = {:?}f;\n\n\
         __device__ __forceinline__ bool is_held(const float* slot) {{ return slot[0] > 0.5f; }}\n\n\
         // The number of records, which is the last of the sums over them.\n\
         __device__ __forceinline__ double number_of(const double* sums) {{ return sums[{sums}]; }}\n\n\
         // The cost of each number of records, in bits.\n{}\n\
         // The same where the residual is minus this number.\n\
         __device__ __forceinline__ float size_cost(float residual) {{\n  \
         return residual < 0.5f && residual > -(RECORDS + 0.5f) ? cost_of_number((int)(0.5f - residual)) : {NEVER:?}f;\n\
         }}\n\n\
         __device__ __forceinline__ float cost_of_size(const float* residual) {{ return size_cost(residual[STATS - 1]); }}\n",
        slotted.share() as f32,
        table("float", "cost_of_number", &costs),
    ))
}

/// The cost of a number of records that cannot be.
const NEVER: f64 = 1e18;

/// What the text says where n is public. Programs of counts have it too.
pub(super) fn none() -> String {
    "// n is public: every place holds a record.\n\
     constexpr bool SLOTTED = false;\n\
     constexpr int COORDINATES = DIM;\n\
     constexpr float SHARE = 1.0f;\n\
     __device__ __forceinline__ bool is_held(const float*) { return true; }\n\
     __device__ __forceinline__ double number_of(const double*) { return RECORDS; }\n\
     __device__ __forceinline__ float cost_of_size(const float*) { return 0.0f; }\n"
        .into()
}
