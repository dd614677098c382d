//! States extremely far from the release: a chain must return, without overflow or NaN.

use std::sync::Arc;

use rand::RngExt;
use soma::Outcome;
use soma::kernel::{Batch, Proposals, Records};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::Mean;
use soma::release::{Aggregate, Release};
use soma::rng::{Rng, stream};

use crate::kernels::ALL;

struct Uniform<'a>(&'a Release);

impl Proposals for Uniform<'_> {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        let k = self.0.query().dim();
        batch.resize(size, k, k);
        let scales = self.0.sum_scales();
        let (records, statistics) = batch.parts_mut();
        for (at, (x, t)) in records.iter_mut().zip(statistics).enumerate() {
            *x = rng.random();
            *t = *x / scales[at % k];
        }
        Ok(())
    }
}

fn release(noise: Noise, n: usize, far: f64) -> Release {
    let query = Arc::new(Mean::new(vec![(0.0, 1.0); 2]).unwrap());
    let mechanism = Mechanism::new(noise, vec![0.5 / far; 2]).unwrap();
    Release::new(query, mechanism, Aggregate::Mean, n, vec![0.6, 0.5]).unwrap()
}

/// Records all at (0.1, 0), the release at (0.6, 0.5), `far` noise scales away in each statistic.
#[test]
fn a_far_start_neither_freezes_nor_breaks() {
    for law in ALL {
        for noise in [Noise::Laplace, Noise::Gaussian] {
            for far in [1e6, 1e12] {
                let n = 10;
                let release = release(noise, n, far);
                let mut records = Records::new(&release, [0.1, 0.0].repeat(n)).unwrap();
                let distance = |records: &Records| -> f64 {
                    records.residual().iter().map(|r| r.abs()).sum::<f64>() / far
                };
                let start = distance(&records);
                let mut kernel = (law.build)(n);
                let mut rng = stream(31, 0);
                let case = format!("{}, {noise:?}, {far} scales away", law.name);
                let mut taken = 0;
                for _ in 0..400 {
                    let counts = kernel.sweep(
                        &mut records,
                        &mut Uniform(&release),
                        release.potential(),
                        &mut rng,
                    );
                    taken += counts.unwrap().accepted;
                    assert!(records.residual().iter().all(|r| r.is_finite()), "{case}");
                    assert!(records.all().iter().all(|x| (0.0..=1.0).contains(x)), "{case}");
                }
                // At first proposals are better than the current records, so that some are
                // accepted; at the end the sums are as near to the release as 4000 proposals can
                // bring them.
                assert!(taken >= 5, "{case}: {taken} proposals taken");
                let end = distance(&records);
                assert!(end < 0.02 * start, "{case}: distance {start} at the start, {end} now");
            }
        }
    }
}
