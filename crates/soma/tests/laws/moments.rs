//! The stationary moments of every kernel, for two and three continuous records, compared with
//! quadrature.

use std::sync::Arc;

use rand_distr::{Beta, Distribution, Normal};
use soma::Outcome;
use soma::diagnostics::mcse_mean;
use soma::kernel::{Batch, Proposals, Records};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::Mean;
use soma::release::{Aggregate, Release};
use soma::rng::{Rng, stream};
use statrs::distribution::ContinuousCDF;

use crate::kernels::{ALL, Law};

/// The distribution of a record.
#[derive(Debug, Clone, Copy)]
enum Record {
    /// Beta(10, 10), as in the paper's section 5.1.
    Beta,
    /// N(0.3, 0.5^2), so that records are outside the clamp too.
    Normal,
}

impl Record {
    fn quantile(self, p: f64) -> f64 {
        match self {
            Record::Beta => statrs::distribution::Beta::new(10.0, 10.0).unwrap().inverse_cdf(p),
            Record::Normal => statrs::distribution::Normal::new(0.3, 0.5).unwrap().inverse_cdf(p),
        }
    }
}

struct RecordProposals<'a> {
    record: Record,
    release: &'a Release,
}

impl Proposals for RecordProposals<'_> {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, 1, 1);
        let (records, statistics) = batch.parts_mut();
        for x in records.iter_mut() {
            *x = match self.record {
                Record::Beta => Beta::new(10.0, 10.0)?.sample(rng),
                Record::Normal => Normal::new(0.3, 0.5)?.sample(rng),
            };
        }
        self.release.query().statistics(records, statistics)?;
        statistics.iter_mut().for_each(|t| *t /= self.release.sum_scales()[0]);
        Ok(())
    }
}

fn release(n: usize, noise: Noise, scale: f64) -> Release {
    let query = Arc::new(Mean::new(vec![(0.0, 1.0)]).unwrap());
    let mechanism = Mechanism::new(noise, vec![scale]).unwrap();
    Release::new(query, mechanism, Aggregate::Mean, n, vec![0.62]).unwrap()
}

/// Functions of the records whose means are compared: of one record, of all, and of the order.
fn functions(x: &[f64]) -> [f64; 5] {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let largest = x.iter().copied().fold(f64::MIN, f64::max);
    [x[0], x[0] * x[0], mean * mean, x[0] * x[1], largest]
}

/// The means under pi, by the midpoint rule in the probabilities of the records.
fn quadrature(record: Record, n: usize, noise: Noise, scale: f64) -> [f64; 5] {
    let points: usize = if n == 2 { 1000 } else { 160 };
    let grid: Vec<f64> =
        (0..points).map(|i| record.quantile((i as f64 + 0.5) / points as f64)).collect();
    let (mut total, mut sums) = (0.0, [0.0; 5]);
    let mut x = vec![0.0; n];
    for cell in 0..points.pow(n as u32) {
        let mut rest = cell;
        for value in &mut x {
            *value = grid[rest % points];
            rest /= points;
        }
        let mean = x.iter().map(|v| v.clamp(0.0, 1.0)).sum::<f64>() / n as f64;
        let z = (0.62 - mean) / scale;
        let eta = match noise {
            Noise::Gaussian => (-0.5 * z * z).exp(),
            _ => (-z.abs()).exp(),
        };
        total += eta;
        sums.iter_mut().zip(functions(&x)).for_each(|(sum, value)| *sum += eta * value);
    }
    sums.map(|sum| sum / total)
}

/// The values of the functions along a chain.
fn draws(record: Record, release: &Release, law: &Law, seed: u64) -> Vec<Vec<f64>> {
    let n = release.n();
    let potential = release.potential();
    let mut rng = stream(seed, 0);
    let mut records = Records::new(release, vec![0.5; n]).unwrap();
    let mut proposals = RecordProposals { record, release };
    let mut kernel = (law.build)(n);
    let mut out = vec![Vec::new(); 5];
    for sweep in 0..60_000 {
        kernel.sweep(&mut records, &mut proposals, potential, &mut rng).unwrap();
        if sweep >= 100 {
            let values = functions(records.all());
            out.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    out
}

/// 200 comparisons, each within 5 Monte Carlo standard errors.
#[test]
fn stationary_moments_are_those_of_quadrature() {
    let mut seed = 0;
    for record in [Record::Beta, Record::Normal] {
        for n in [2, 3] {
            for (noise, scale) in [(Noise::Laplace, 0.05), (Noise::Gaussian, 0.08)] {
                let truth = quadrature(record, n, noise, scale);
                let release = release(n, noise, scale);
                for law in ALL {
                    seed += 1;
                    let draws = draws(record, &release, law, seed);
                    for (which, (column, truth)) in draws.iter().zip(truth).enumerate() {
                        let mean = column.iter().sum::<f64>() / column.len() as f64;
                        let error = mcse_mean(&[column]);
                        assert!(
                            (mean - truth).abs() < 5.0 * error + 1e-5,
                            "{}: {record:?}, n {n}, {noise:?}, function {which}: \
                             {mean} +- {error}, quadrature {truth}",
                            law.name
                        );
                    }
                }
            }
        }
    }
}
