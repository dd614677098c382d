//! Groups fitted one by one.

use std::num::NonZeroUsize;

use super::run::{Fitted, Plan, Watch};
use super::table::GroupTable;
use crate::counts::{CountChain, CountProblem};
use crate::error::Outcome;
use crate::threads::over_threads;

/// Iterations between two reports of a chain.
const REPORT: u64 = 250;

/// Fits each group by itself, over threads. The draws of a group depend on the seed and on its
/// place in the table, and not on the number of threads. Groups that had not ended when the run was
/// stopped are left out.
pub fn fit(
    table: &GroupTable,
    plan: &Plan,
    threads: NonZeroUsize,
    watch: &dyn Watch,
) -> Outcome<Vec<Fitted>> {
    plan.check()?;
    let groups = table.problems().len() as u64;
    let fitted = over_threads(groups, threads, &|| watch.stop(), &|_| (), |group, _| {
        let group = group as usize;
        if let Some(known) = watch.known(&table.names()[group]) {
            watch.advance(plan.iterations().saturating_mul(plan.chains as u64));
            return Ok(known);
        }
        let fitted = one(table, group, plan, watch)?;
        watch.ended(&fitted);
        Ok(fitted)
    })?;
    Ok(fitted.into_iter().map(|(_, fitted)| fitted).collect())
}

/// All chains of a group, one after the other.
fn one(table: &GroupTable, group: usize, plan: &Plan, watch: &dyn Watch) -> Outcome<Fitted> {
    let problem: &CountProblem = &table.problems()[group];
    let names = problem.outputs();
    // Kept from the first chain to the last, which would otherwise compute it anew.
    let _exact = problem.exact();
    let mut draws = vec![vec![Vec::new(); plan.chains]; names.len()];
    let mut log_density = vec![Vec::new(); plan.chains];
    for chain in 0..plan.chains {
        let stream = group as u64 * Plan::MOST_CHAINS + chain as u64;
        let mut counts = CountChain::new(problem, plan.seed, stream, plan.warmup);
        for done in 1..=plan.iterations() {
            counts.step()?;
            if plan.keeps(done) {
                let values = counts.draw();
                draws.iter_mut().zip(values).for_each(|(column, value)| column[chain].push(value));
                log_density[chain].push(counts.log_density());
            }
            if done.is_multiple_of(REPORT) || done == plan.iterations() {
                watch.advance(if done.is_multiple_of(REPORT) { REPORT } else { done % REPORT });
            }
        }
    }
    Ok(Fitted::of(&table.names()[group], &names, &draws, &log_density))
}
