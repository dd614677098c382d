//! Exact answers for categories, by enumeration of all counts.

use soma::chain::Problem;
use statrs::distribution::{Beta, ContinuousCDF};
use statrs::function::gamma::ln_gamma;

use super::answer::{Answer, Estimate, LEVELS};
use super::likelihood::{compositions, log_coefficient};

/// The posterior of the probabilities of the categories with prior Dirichlet(alpha): given the
/// counts c it is Dirichlet(alpha + c), and the counts are weighted by their Dirichlet-multinomial
/// probability times the density of the release. Row c of `statistics` is the statistic of a record
/// in category c.
pub fn answers(problem: &Problem, alpha: &[f64], statistics: &[Vec<f64>]) -> Vec<Answer> {
    let release = problem.release();
    let unit = release.sum_units()[0];
    let all = compositions(release.n(), alpha.len());
    let log_weight = |counts: &Vec<usize>| {
        let mut residual = release.values();
        for (count, row) in counts.iter().zip(statistics) {
            residual.iter_mut().zip(row).for_each(|(r, t)| *r -= *count as f64 * t / unit);
        }
        let gammas = counts.iter().zip(alpha).map(|(c, a)| ln_gamma(*c as f64 + a) - ln_gamma(*a));
        log_coefficient(counts)
            + gammas.sum::<f64>()
            + release.parts()[0]
                .mechanism()
                .unwrap()
                .log_density(&residual, &vec![0.0; residual.len()])
    };
    let logs: Vec<f64> = all.iter().map(log_weight).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let total: f64 = weights.iter().sum();
    let size = release.n() as f64 + alpha.iter().sum::<f64>();
    (0..alpha.len())
        .map(|c| {
            // A mixture of Beta(a, size - a), by a.
            let parts: Vec<(f64, f64)> = all
                .iter()
                .zip(&weights)
                .filter(|(_, w)| **w > 1e-14 * total)
                .map(|(counts, w)| (alpha[c] + counts[c] as f64, w / total))
                .collect();
            mixture(&parts, size)
        })
        .collect()
}

fn mixture(parts: &[(f64, f64)], size: f64) -> Answer {
    let exact = |value: f64| Estimate { value, error: 0.0 };
    let moment = |of: &dyn Fn(f64) -> f64| parts.iter().map(|(a, w)| w * of(*a)).sum::<f64>();
    let mean = moment(&|a| a / size);
    let square = moment(&|a| a * (a + 1.0) / (size * (size + 1.0)));
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for (a, w) in parts {
        match merged.iter_mut().find(|(other, _)| other == a) {
            Some((_, weight)) => *weight += w,
            None => merged.push((*a, *w)),
        }
    }
    let laws: Vec<(Beta, f64)> =
        merged.into_iter().map(|(a, w)| (Beta::new(a, size - a).unwrap(), w)).collect();
    let cdf = |x: f64| laws.iter().map(|(law, w)| w * law.cdf(x)).sum::<f64>();
    let quantile = |p: f64| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if cdf(middle) < p { &mut low } else { &mut high }) = middle;
        }
        exact(0.5 * (low + high))
    };
    Answer {
        mean: exact(mean),
        free_sd: exact((square - mean * mean).sqrt()),
        quantiles: LEVELS.map(quantile),
    }
}
