//! The chains of the time-use experiment, shared by two items.

use soma::Outcome;

use crate::paper::settings::{Sex, atus, atus_chain};
use crate::paper::{Sampler, Study};

/// The samplers that are run: the paper says "IMwG" for one of the last two.
pub(super) const SAMPLERS: [Sampler; 3] = [Sampler::Soma, Sampler::SysImwg, Sampler::RanImwg];

/// The draws of one sampler on one half of the data: by alpha, by run, by sweep.
pub(super) type Draws = Vec<Vec<Vec<f64>>>;

/// The numbers of runs and of sweeps: 10^6 moves are 283 sweeps of 3,528 records and 320 of 3,128.
pub(super) fn size(study: &Study<'_>, sex: Sex) -> (usize, usize) {
    study.pick((4, 8), (20, sweeps_of(1e6, sex)), (20, sweeps_of(1e6, sex)))
}

/// The number of sweeps nearest to a number of moves.
pub(super) fn sweeps_of(moves: f64, sex: Sex) -> usize {
    (moves / sex.records() as f64).round() as usize
}

/// The paper's chains; the same for every item.
pub(super) fn draws(study: &Study<'_>, sex: Sex, sampler: Sampler) -> Outcome<Draws> {
    let problem = atus(sex)?;
    let (runs, sweeps) = size(study, sex);
    let purpose = format!("atus/{}/{}", sex.name(), sampler.name());
    let by_run = study.map(&purpose, runs, |_, rng| {
        let mut chain = atus_chain(&problem, sampler, rng)?;
        let mut draws = vec![Vec::new(); 3];
        for _ in 0..sweeps {
            chain.step()?;
            draws.iter_mut().zip(chain.theta()).for_each(|(draws, alpha)| draws.push(*alpha));
        }
        Ok(draws)
    })?;
    Ok((0..3).map(|j| by_run.iter().map(|run| run[j].clone()).collect()).collect())
}
