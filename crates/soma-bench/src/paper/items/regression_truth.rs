//! The posterior of the regression at n = 100, epsilon = 30, and chains that converge to it.

use soma::Outcome;
use soma::chain::Problem;

use crate::paper::settings::chain_from_prior;
use crate::paper::{Sampler, Study};

/// Nearly independent draws of theta, row by row, from chains far longer than those compared with
/// them.
pub(super) fn posterior_draws(study: &Study<'_>, problem: &Problem) -> Outcome<Vec<f64>> {
    let (chains, warmup, kept, thin) =
        study.pick((4, 20, 10, 2), (40, 600, 25, 100), (100, 1000, 20, 200));
    let draws = study.map("regression-truth", chains, |_, rng| {
        let mut chain = chain_from_prior(problem, Sampler::Soma, rng)?;
        for _ in 0..warmup {
            chain.step()?;
        }
        let mut draws = Vec::new();
        for _ in 0..kept {
            for _ in 0..thin {
                chain.step()?;
            }
            draws.extend_from_slice(chain.theta());
        }
        Ok(draws)
    })?;
    Ok(draws.concat())
}

/// theta of independent chains at some iterations: part k has all chains at `at[k]`, row by row.
pub(super) fn paths(
    study: &Study<'_>,
    problem: &Problem,
    sampler: Sampler,
    chains: usize,
    at: &[usize],
) -> Outcome<Vec<Vec<f64>>> {
    let purpose = format!("regression-paths/{}", sampler.name());
    let runs = study.map(&purpose, chains, |_, rng| {
        let mut chain = chain_from_prior(problem, sampler, rng)?;
        let mut theta = Vec::with_capacity(at.len());
        for &iteration in at {
            while (chain.iteration() as usize) < iteration {
                chain.step()?;
            }
            theta.push(chain.theta().to_vec());
        }
        Ok(theta)
    })?;
    Ok((0..at.len()).map(|k| runs.iter().flat_map(|run| run[k].clone()).collect()).collect())
}
