//! How much memory groups will need, so that what cannot fit is refused before it begins.

use super::pool::MOST_KEPT;
use super::run::Plan;
use super::table::GroupTable;
use crate::chain::MemoryNeed;

/// Bytes per draw of one parameter: a vector that grew by doubling.
const DRAW: u64 = 16;

/// Bytes per draw of one parameter for its diagnostics.
const DIAGNOSTICS: u64 = 53;

/// The memory of the draws of a run: of the groups that are fitted at the same time, or of all of
/// them where they are fitted together. Rounded up; other than draws there is little.
pub fn memory(table: &GroupTable, plan: &Plan, threads: usize, pools: bool) -> MemoryNeed {
    let width = |group: usize| table.problems()[group].outputs().len() as u64 + 1;
    let widths = (0..table.problems().len()).map(width);
    let draws = (plan.chains as u64).saturating_mul(plan.draws);
    let bytes = |columns: u64| {
        let of_draw = columns.saturating_mul(DRAW).saturating_add(DIAGNOSTICS);
        draws.saturating_mul(of_draw)
    };
    if pools {
        let widest = widths.max().unwrap_or(1);
        let groups = (MOST_KEPT as u64).min(draws.saturating_mul(widest)).saturating_mul(2 * DRAW);
        // The concentration, the mean shares and the log density.
        let chain = bytes(widest + 2).saturating_add(groups);
        return MemoryNeed { chain, at_a_time: 1, draws: 0 };
    }
    let at_a_time = threads.clamp(1, table.problems().len().max(1)) as u64;
    MemoryNeed { chain: bytes(widths.max().unwrap_or(1)), at_a_time, draws: 0 }
}
