//! Threads per chain and per block, and use of shared memory. Draws depend on the threads per chain, which the
//! problem determines, and on nothing else of it.

use soma::Invalid;

use super::{Options, unfit};

/// Records per thread at most: their weights are in registers, of which a thread has 255.
const MOST_PER_LANE: usize = 104;
/// Records per thread, if there are enough lanes. More lanes would repeat more of the work that does not
/// depend on the number of records.
const PER_LANE: usize = 52;
/// Registers per multiprocessor.
const REGISTERS: usize = 65_536;

/// Threads and shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Threads per chain.
    pub lanes: usize,
    /// Threads per block. One block per multiprocessor keeps its warps close together in the code, which the
    /// instruction cache needs (SOMA, n = 100: 10.3 G moves per second; 9.7 G with three blocks of 128).
    pub threads: usize,
    /// Whether the records of a chain are in shared memory during a launch.
    pub is_resident: bool,
    /// Whether the slots of a thread are padded to a multiple of four.
    pub is_padded: bool,
    /// Shared memory per block, in bytes.
    pub shared: usize,
}

/// What a chain needs room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// The number of records.
    pub records: usize,
    /// The length of a record.
    pub dim: usize,
    /// Numbers of a record that its statistics are computed from.
    pub variables: usize,
    /// Records that SOMA chooses among at a time.
    pub block: usize,
    /// Sums over the records.
    pub sums: usize,
    /// Statistics.
    pub statistics: usize,
    /// Whether updates of theta need many registers.
    pub is_heavy: bool,
    /// Whether updates of theta read the records many times.
    pub is_read_often: bool,
}

impl Layout {
    /// For chains of this size. The error says what does not fit.
    pub(super) fn new(size: Size, options: Options) -> Result<Self, Invalid> {
        let Size { records: n, dim, variables, block, sums, statistics, .. } = size;
        let few = block.div_ceil(PER_LANE).next_power_of_two().min(32);
        let lanes = options.lanes.unwrap_or(few).min(block.next_power_of_two());
        let per_lane = block.div_ceil(lanes);
        let name = options.kernel.name();
        if per_lane > MOST_PER_LANE || !lanes.is_power_of_two() || lanes > 32 {
            return Err(unfit(
                "sampler.kernel",
                format!("{name} on {block} records at a time"),
                format!("up to {} records at a time: soma-blocks, or sys-imwg", 32 * MOST_PER_LANE),
            ));
        }
        // Registers per thread, fitted to what the compiler used.
        let single = if block == 1 { 20 } else { 0 };
        let heavy = if size.is_heavy { 90 } else { 0 };
        let registers = (per_lane + 3 * statistics + 60 + single + heavy).min(255);
        let threads_for = |bytes: usize| {
            let most = (options.most_shared / bytes.max(1)).min(REGISTERS / registers).min(1024);
            // A multiple of 128 gives each of the four schedulers the same number of warps.
            if most >= 128 { most / 128 * 128 } else { most / 32 * 32 }
        };
        // Shared memory per thread: slots, and records or sums. Non-centred updates read all records, so records
        // in shared memory are worth having fewer threads.
        let slots = |count: usize| if block > 1 { count * variables * 4 } else { 0 };
        let (plain, padded) = (slots(per_lane), slots(per_lane.next_multiple_of(4)));
        let enough = if size.is_read_often { 128 } else { 512 };
        // The two chains of a pair are in memory side by side.
        let is_resident =
            !options.is_paired && lanes == 1 && threads_for(plain + n * dim * 4) >= enough;
        let rest = match is_resident {
            true => n * dim * 4,
            false if block < n => sums * 8,
            false => 0,
        };
        let is_padded = threads_for(padded + rest) == threads_for(plain + rest);
        let bytes = rest + if is_padded { padded } else { plain };
        let threads = options.threads.unwrap_or_else(|| threads_for(bytes));
        if threads == 0 {
            return Err(unfit(
                "sampler.kernel",
                format!("{name} on {block} records of {dim} numbers at a time"),
                "fewer at a time: soma-blocks, or sys-imwg",
            ));
        }
        Ok(Layout { lanes, threads, is_resident, is_padded, shared: threads * bytes })
    }
}
