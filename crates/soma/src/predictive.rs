//! Posterior predictive releases: releases of new records.

use crate::chain::Problem;
use crate::error::Outcome;
use crate::interrupt;
use crate::rng::{Rng, stream};

/// Records per batch.
const ROWS: usize = 4096;

/// A release of new records at each theta: theta from the posterior, n records from the model and
/// the noise of the mechanism. If theta is fixed, its fixed value is used.
///
/// A published value in the tails of these is not explained by the model (Rubin 1984). Costs n
/// records for each theta.
pub fn releases(problem: &Problem, thetas: &[Vec<f64>], seed: u64) -> Outcome<Vec<Vec<f64>>> {
    let mut rng = stream(seed, PREDICTIVE);
    // A draw begins with theta; derived quantities follow.
    let p = problem.model().parameters().len();
    let at = |draw: &Vec<f64>| {
        let theta = draw.get(..p).unwrap_or(draw);
        release(problem, problem.fixed().unwrap_or(theta), &mut rng)
    };
    thetas.iter().map(at).collect()
}

/// The index of the random stream, disjoint from those of chains.
const PREDICTIVE: u64 = u64::MAX / 2;

fn release(problem: &Problem, theta: &[f64], rng: &mut Rng) -> Outcome<Vec<f64>> {
    let release = problem.release();
    let query = release.query();
    let (n, d, k) = (release.n(), query.record_dim(), query.dim());
    let mut sums = vec![0.0; k];
    let most = ROWS.min(n);
    let (mut records, mut statistics) = (vec![0.0; most * d], vec![0.0; most * k]);
    for from in (0..n).step_by(most) {
        interrupt::check()?;
        let rows = most.min(n - from);
        problem.model().propose(theta, &mut records[..rows * d], rng)?;
        query.statistics(&records[..rows * d], &mut statistics[..rows * k])?;
        for row in statistics[..rows * k].chunks_exact(k) {
            sums.iter_mut().zip(row).for_each(|(sum, t)| *sum += t);
        }
    }
    Ok(release.publish(&sums, rng))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Normal;
    use crate::release::mechanism::Noise;
    use crate::release::query::Mean;
    use crate::release::{Aggregate, Mechanism, Release};

    /// The mean of n normals and the noise: mean and variance within 4.5 standard errors.
    #[test]
    fn replicated_releases_have_their_law() {
        let query = Arc::new(Mean::new(vec![(-1e3, 1e3)]).unwrap());
        let noise = Mechanism::new(Noise::Gaussian, vec![0.5]).unwrap();
        let release = Release::new(query, noise, Aggregate::Mean, 16, vec![0.0]).unwrap();
        let model = Arc::new(Normal::new(0.0, 1.0, 3.0, 3.0).unwrap());
        let problem = Problem::new(release, model).unwrap();
        let draws = 20_000;
        let found = releases(&problem, &vec![vec![2.0, 4.0]; draws], 3).unwrap();
        let mean = found.iter().map(|row| row[0]).sum::<f64>() / draws as f64;
        let variance = found.iter().map(|row| (row[0] - 2.0).powi(2)).sum::<f64>() / draws as f64;
        let expected = 4.0 / 16.0 + 0.25;
        let error = (expected / draws as f64).sqrt();
        assert!((mean - 2.0).abs() < 4.5 * error, "{mean}");
        assert!((variance / expected - 1.0).abs() < 4.5 * (2.0 / draws as f64).sqrt());
    }
}
