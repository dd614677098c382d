//! Groups fitted together, with a common prior.

use std::num::NonZeroUsize;

use super::run::{Fitted, Plan, Watch};
use super::table::GroupTable;
use crate::counts::{PooledChain, PooledProblem, SharedPrior};
use crate::error::Outcome;
use crate::threads::over_threads;

/// The most numbers that are kept of the groups, in all chains: 1 GiB. Of more groups or longer
/// chains one draw in several is kept; of the common prior all are.
pub(super) const MOST_KEPT: usize = 1 << 27;

/// What was kept of a chain.
struct Kept {
    /// For each parameter of the common prior its draws.
    shared: Vec<Vec<f64>>,
    /// For each group, for each of its parameters, its draws.
    groups: Vec<Vec<Vec<f64>>>,
    log_density: Vec<f64>,
}

/// Fits all groups together with a hierarchical prior, the chains over threads: what came of the
/// common prior (the concentration and the mean shares), and of each group. Nothing comes back if the
/// run was stopped: the groups depend on each other.
pub fn pool(
    table: &GroupTable,
    prior: SharedPrior,
    plan: &Plan,
    threads: NonZeroUsize,
    watch: &dyn Watch,
) -> Outcome<Option<(Fitted, Vec<Fitted>)>> {
    plan.check()?;
    let problem = PooledProblem::new(table.problems().to_vec(), prior)?;
    let names: Vec<Vec<String>> =
        (0..problem.groups().len()).map(|group| problem.outputs(group)).collect();
    let of_draw: usize = names.iter().map(Vec::len).sum::<usize>().max(1);
    let all = usize::try_from(plan.draws)
        .unwrap_or(usize::MAX)
        .saturating_mul(plan.chains)
        .saturating_mul(of_draw);
    let stride = all.div_ceil(MOST_KEPT).max(1) as u64;
    let kept = over_threads(plan.chains as u64, threads, &|| watch.stop(), &|_| (), |chain, _| {
        run(&problem, chain as usize, plan, (&names[..], stride), watch)
    })?;
    if kept.len() < plan.chains {
        return Ok(None);
    }
    let kept = kept.into_iter().map(|(_, kept)| kept).collect();
    Ok(Some(collected(&problem, table, &names, kept, watch)))
}

/// One chain.
fn run(
    problem: &PooledProblem,
    chain: usize,
    plan: &Plan,
    (names, stride): (&[Vec<String>], u64),
    watch: &dyn Watch,
) -> Outcome<Kept> {
    let mut pooled = PooledChain::new(problem, plan.seed, chain as u64, plan.warmup);
    let mut kept = Kept {
        shared: vec![Vec::new(); problem.shared_outputs().len()],
        groups: names.iter().map(|names| vec![Vec::new(); names.len()]).collect(),
        log_density: Vec::new(),
    };
    let mut draws = 0;
    for done in 1..=plan.iterations() {
        pooled.step()?;
        watch.advance(1);
        if !plan.keeps(done) {
            continue;
        }
        draws += 1;
        kept.log_density.push(pooled.log_density());
        kept.shared.iter_mut().zip(pooled.shared()).for_each(|(column, x)| column.push(x));
        if draws % stride == 0 {
            for (number, group) in kept.groups.iter_mut().enumerate() {
                group.iter_mut().zip(pooled.group(number)).for_each(|(column, x)| column.push(x));
            }
        }
    }
    Ok(kept)
}

/// The tables of the common prior and of each group.
fn collected(
    problem: &PooledProblem,
    table: &GroupTable,
    names: &[Vec<String>],
    kept: Vec<Kept>,
    watch: &dyn Watch,
) -> (Fitted, Vec<Fitted>) {
    let column = |k: usize| kept.iter().map(|chain| chain.shared[k].clone()).collect();
    let shared_names = problem.shared_outputs();
    let draws: Vec<Vec<Vec<f64>>> = (0..shared_names.len()).map(column).collect();
    let log_density: Vec<Vec<f64>> = kept.iter().map(|chain| chain.log_density.clone()).collect();
    let shared = Fitted::of("", &shared_names, &draws, &log_density);
    let group = |(number, name): (usize, &String)| {
        let column = |k: usize| kept.iter().map(|chain| chain.groups[number][k].clone()).collect();
        let draws: Vec<Vec<Vec<f64>>> = (0..names[number].len()).map(column).collect();
        // That of the release of all groups is judged with the common prior.
        let unknown: Vec<Vec<f64>> = draws.first().map_or(Vec::new(), |chains| {
            chains.iter().map(|chain| vec![f64::NAN; chain.len()]).collect()
        });
        let fitted = Fitted::of(name, &names[number], &draws, &unknown);
        watch.ended(&fitted);
        fitted
    };
    (shared, table.names().iter().enumerate().map(group).collect())
}
