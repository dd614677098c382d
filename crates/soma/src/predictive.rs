//! Posterior predictive releases: releases of new records.

use crate::chain::Problem;
use crate::counts::CountProblem;
use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::release::Slotted;
use crate::rng::{Rng, stream};

/// Records per batch.
const ROWS: usize = 4096;

/// A release of new records at each theta: theta from the posterior, n records from the model and
/// the noise of the mechanism. If theta is fixed, its fixed value is used. Where n is unknown, it is
/// that of the draw.
///
/// A published value in the tails of these is not explained by the model (Rubin 1984). Costs n
/// records for each theta; for a table whose draws hold the shares of its cells, the cost is that
/// of the cells.
pub fn releases(problem: &Problem, thetas: &[Vec<f64>], seed: u64) -> Outcome<Vec<Vec<f64>>> {
    let mut rng = stream(seed, PREDICTIVE);
    // A draw begins with theta; derived quantities follow.
    let p = problem.model().parameters().len();
    let at = |draw: &Vec<f64>| {
        if let Some(sums) = counts(problem).and_then(|counts| counts.replicate(draw, &mut rng)) {
            let sums: Vec<f64> = sums.into_iter().map(|sum| sum as f64).collect();
            return Ok(problem.release().publish_sums(&sums, &mut rng));
        }
        let theta = problem.fixed().unwrap_or(draw.get(..p).unwrap_or(draw));
        release(problem, theta, size(problem, draw)?, &mut rng)
    };
    thetas.iter().map(at).collect()
}

/// Whether replicated releases cost what the cells of a table cost, and not what n records do.
pub fn is_cheap(problem: &Problem) -> bool {
    let draw = vec![0.0; problem.output_count()];
    counts(problem).is_some_and(|counts| counts.replicate(&draw, &mut stream(1, 0)).is_some())
}

/// The table of counts in the place of records.
fn counts(problem: &Problem) -> Option<&CountProblem> {
    problem.counts().ok()
}

/// The index of the random stream, disjoint from those of chains.
const PREDICTIVE: u64 = u64::MAX / 2;

/// The number of records: the last of a draw before derived quantities, where it is unknown.
fn size(problem: &Problem, draw: &[f64]) -> Result<usize, Invalid> {
    let release = problem.release();
    if release.slotted().is_none() {
        return Ok(release.n());
    }
    let n = draw.get(problem.plain_output_count() - 1).filter(|n| **n >= 0.0 && n.is_finite());
    n.map(|n| *n as usize).ok_or_else(|| {
        Invalid::new(
            "release.n",
            "the draws hold no number of records",
            "unknown",
            "a release with n = a number; or draws of a release whose n is unknown too",
        )
    })
}

fn release(problem: &Problem, theta: &[f64], n: usize, rng: &mut Rng) -> Outcome<Vec<f64>> {
    // Of records, not of slots for them.
    let release = problem.release().slotted().map_or(problem.release(), Slotted::likely);
    let query = release.query();
    let (d, k) = (query.record_dim(), query.dim());
    let mut sums = vec![0.0; k];
    let most = ROWS.min(n.max(1));
    let (mut records, mut statistics) = (vec![0.0; most * d], vec![0.0; most * k]);
    for from in (0..n).step_by(most) {
        interrupt::check()?;
        let rows = most.min(n - from);
        problem.record_model().propose(theta, &mut records[..rows * d], rng)?;
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

    /// n of the draw where it is not public: the sum of n normals, their mean, which is a ratio, and a
    /// noisy count, each with its noise, within 4.5 standard errors.
    #[test]
    fn replicated_releases_have_the_n_of_the_draw() {
        let text = r#"
            derived = { twice = "2 * mu" }
            [release]
            n = "unknown"
            [[release.parts]]
            name = "sum"
            query = { kind = "mean", clamp = [-1e3, 1e3] }
            statistic = "sum"
            values = [3.0]
            mechanism = { kind = "gaussian", scale = 2.0 }
            [[release.parts]]
            name = "mean"
            query = { kind = "mean", clamp = [-1e3, 1e3] }
            statistic = "mean"
            values = [3.0]
            mechanism = { kind = "gaussian", scale = 0.1 }
            [[release.parts]]
            name = "count"
            query = { kind = "count" }
            statistic = "sum"
            values = [20]
            mechanism = { kind = "gaussian", scale = 1.0 }
            [model]
            kind = "normal"
            prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 1.0, shape = 3.0, rate = 3.0 }
        "#;
        let problem = crate::spec::Spec::parse(text).unwrap().problem;
        assert_eq!(problem.outputs(), ["mu", "sigma2", "n", "twice"]);
        let draws = 20_000;
        let found = releases(&problem, &vec![vec![2.0, 4.0, 16.0, 4.0]; draws], 3).unwrap();
        for (k, mean, variance) in
            [(0, 32.0, 16.0 * 4.0 + 4.0), (1, 2.0, 4.0 / 16.0 + 0.01), (2, 16.0, 1.0)]
        {
            let of = |f: &dyn Fn(f64) -> f64| {
                found.iter().map(|row| f(row[k])).sum::<f64>() / draws as f64
            };
            let (first, second) = (of(&|x| x), of(&|x| (x - mean).powi(2)));
            let error = (variance / draws as f64).sqrt();
            assert!((first - mean).abs() < 4.5 * error, "{k}: {first}");
            assert!((second / variance - 1.0).abs() < 4.5 * (2.0 / draws as f64).sqrt(), "{k}");
        }
        assert!(releases(&problem, &[vec![2.0, 4.0]], 3).is_err());
    }

    /// Multinomial counts with noise: mean and variance within 4.5 standard errors, and n as the draw
    /// says it where it is not public.
    #[test]
    fn replicated_tables_have_their_law() {
        let text = |n: &str| {
            format!(
                r#"
                [release]
                n = {n}
                statistic = "sum"
                values = [10, 30]
                query = {{ kind = "categories", labels = ["a", "b"] }}
                mechanism = {{ kind = "gaussian", scale = 2.0 }}
                [model]
                kind = "categorical"
                prior = {{ kind = "dirichlet", alpha = 1.0 }}
                "#
            )
        };
        for n in ["50", "\"unknown\""] {
            let problem = crate::spec::Spec::parse(&text(n)).unwrap().problem;
            assert!(is_cheap(&problem));
            // Two shares, two counts of no meaning here, and n.
            let draw = vec![0.3, 0.7, 0.0, 0.0, 50.0];
            let draws = 20_000;
            let found = releases(&problem, &vec![draw; draws], 3).unwrap();
            let mean = found.iter().map(|row| row[0]).sum::<f64>() / draws as f64;
            let variance = found.iter().map(|row| (row[0] - 15.0).powi(2)).sum::<f64>();
            let expected = 50.0 * 0.3 * 0.7 + 4.0;
            assert!((mean - 15.0).abs() < 4.5 * (expected / draws as f64).sqrt(), "{mean}");
            let ratio = variance / draws as f64 / expected;
            assert!((ratio - 1.0).abs() < 4.5 * (2.0 / draws as f64).sqrt(), "{ratio}");
            // Both counts come from the same records: with their noise they sum to n.
            let total = found.iter().map(|row| (row[0] + row[1] - 50.0).powi(2)).sum::<f64>();
            assert!((total / draws as f64 / 8.0 - 1.0).abs() < 0.05, "{total}");
        }
    }
}
