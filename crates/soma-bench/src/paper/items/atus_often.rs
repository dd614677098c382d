//! The time-use chains with alpha updated more often than once a sweep.

use soma::Outcome;
use soma::diagnostics::ess_bulk;
use soma::kernel::{ModelProposals, Records, SingleKernel, SingleMoves};

use super::atus_chains::{size, sweeps_of};
use crate::paper::Study;
use crate::paper::settings::{Sex, atus, atus_start};
use crate::paper::stats::jackknife;

/// The number of moves between updates of alpha.
pub(super) const EVERY: usize = 1000;

/// The effective sample size of each alpha, with its error, for Sys-IMwG: of all runs, after 10^6
/// moves, the first 10^5 of them left out.
pub(super) fn effective(study: &Study<'_>, sex: Sex) -> Outcome<Vec<(f64, f64)>> {
    let problem = atus(sex)?;
    let (release, model) = (problem.release(), problem.model());
    let potential = release.potential();
    let (runs, sweeps) = size(study, sex);
    let updates = sweeps * sex.records() / EVERY;
    // At the smallest scale a run is too short to leave anything out.
    let warmup = if sweeps > sweeps_of(1e5, sex) { updates / 10 } else { 0 };
    let by_run = study.map(&format!("atus/often/{}", sex.name()), runs, |_, mut rng| {
        let (mut alpha, records) = atus_start(&problem, &mut rng)?;
        let mut records = Records::new(release, records)?;
        let mut moves = SingleMoves::new(SingleKernel::SysImwg);
        let mut draws = vec![Vec::new(); 3];
        for _ in 0..updates {
            let mut proposals = ModelProposals::new(model, &alpha, release);
            for _ in 0..EVERY {
                moves.advance(&mut records, &mut proposals, potential, &mut rng)?;
            }
            model.update(&mut alpha, records.all(), &mut rng)?;
            draws.iter_mut().zip(&alpha).for_each(|(draws, alpha)| draws.push(*alpha));
        }
        Ok(draws)
    })?;
    let effective = |alpha: usize| {
        jackknife(runs, |kept| {
            let some: Vec<&[f64]> = kept.iter().map(|&run| &by_run[run][alpha][warmup..]).collect();
            ess_bulk(&some) * runs as f64 / kept.len() as f64
        })
    };
    Ok((0..3).map(effective).collect())
}
