//! Records of a histogram.

use super::*;
use crate::release::query::Histogram;

/// Records of a histogram, by way of bins.
#[test]
fn bins_have_the_law_of_the_scan() {
    let mut rng = rng::stream(7, 0);
    let noises = [Noise::Laplace, Noise::Gaussian, Noise::DiscreteLaplace, Noise::DiscreteGaussian];
    for noise in noises {
        for epsilon in [0.1, 1.0, 10.0, 100.0] {
            for n in [1, 2, 17, 300] {
                let edges = vec![(0..=10).map(|e| f64::from(e) / 10.0).collect()];
                let query = Arc::new(Histogram::new(edges).unwrap());
                let xs: Vec<f64> =
                    (0..n).map(|_| (rng.random::<f64>() + rng.random::<f64>()) / 2.0).collect();
                let mut values = vec![0.0; 10];
                xs.iter().for_each(|x| values[(x * 10.0) as usize] += 1.0);
                values[2] += 3.0;
                values[7] -= 2.0;
                let mechanism = Mechanism::new(noise, vec![2.0 / epsilon; 10]).unwrap();
                let release = Release::new(query, mechanism, Aggregate::Sum, n, values).unwrap();
                let records = Records::new(&release, xs).unwrap();
                let mut offer = vec![0.0; 10];
                offer[4] = records.unit(4);
                let law = law_of(noise, &records, &offer);
                let shape = noise.shape();
                let (counts, _) =
                    frozen(Strategy::Bins, false, shape, &records, &offer, 10_000, &mut rng);
                let off = distance(&counts, &law);
                assert!(off < 4.8, "{noise:?} {epsilon} {n}: {off} standard deviations off");
            }
        }
    }
}

/// Offers of uniform numbers for a histogram of ten bins.
struct Tenths(f64);

impl Offers for Tenths {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, 1, 10);
        let (records, statistics) = batch.parts_mut();
        statistics.fill(0.0);
        for (x, row) in records.iter_mut().zip(statistics.chunks_exact_mut(10)) {
            *x = rng.random();
            row[(*x * 10.0) as usize] = self.0;
        }
        Ok(())
    }
}

/// The bins keep track of the records through replacements.
#[test]
fn bins_follow_the_records() {
    for noise in [Noise::DiscreteLaplace, Noise::Gaussian] {
        let edges = vec![(0..=10).map(|e| f64::from(e) / 10.0).collect()];
        let query = Arc::new(Histogram::new(edges).unwrap());
        let mechanism = Mechanism::new(noise, vec![1.3; 10]).unwrap();
        let values = (0..10).map(|b| f64::from(60 * (b % 2))).collect();
        let release = Release::new(query, mechanism, Aggregate::Sum, 300, values).unwrap();
        let rows = (0..300).map(|i| f64::from(i) / 300.0).collect();
        let mut records = Records::new(&release, rows).unwrap();
        let mut kernel = Kernel::Soma(Soma::new());
        let mut offers = Tenths(records.unit(0));
        let mut rng = rng::stream(13, 0);
        for _ in 0..3 {
            kernel.sweep(&mut records, &mut offers, noise.shape(), &mut rng).unwrap();
        }
        let Kernel::Soma(soma) = &kernel else { unreachable!() };
        match noise.shape() {
            Shape::Absolute => soma.bins.check::<Absolute>(&records),
            Shape::Square => soma.bins.check::<Square>(&records),
        }
        let kept = records.residual().to_vec();
        records.refresh();
        for (kept, right) in kept.iter().zip(records.residual()) {
            assert!((kept - right).abs() < 1e-9, "{kept} was kept, {right} is right");
        }
    }
}
