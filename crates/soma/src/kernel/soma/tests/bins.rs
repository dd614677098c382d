//! Records of a histogram.

use crate::kernel::SomaScan;
use crate::kernel::soma::tests::*;
use crate::release::query::Histogram;
use crate::simd::vector::Portable;

/// A release of the histogram of numbers in [0, 1], with one equal bin for each value.
fn histogram(noise: Noise, scale: f64, n: usize, values: Vec<f64>) -> Release {
    let query = Histogram::with_equal_bins(&[((0.0, 1.0), values.len())]).unwrap();
    let mechanism = Mechanism::new(noise, vec![scale; values.len()]).unwrap();
    Release::new(Arc::new(query), mechanism, Aggregate::Sum, n, values).unwrap()
}

/// Selection by bins: each bin is proposed, and the release is near, or so far that weights
/// overflow and must be compared by logarithms.
#[test]
fn bins_have_the_law_of_the_scan() {
    let mut rng = rng::stream(7, 0);
    let noises = [Noise::Laplace, Noise::Gaussian, Noise::DiscreteLaplace, Noise::DiscreteGaussian];
    for noise in noises {
        for epsilon in [0.1, 1.0, 10.0, 100.0, 1000.0] {
            for (n, far) in [(1, 0.0), (2, 0.0), (17, 0.0), (300, 0.0), (40, 70.0)] {
                let xs: Vec<f64> =
                    (0..n).map(|_| (rng.random::<f64>() + rng.random::<f64>()) / 2.0).collect();
                let mut values = vec![0.0; 10];
                xs.iter().for_each(|x| values[(x * 10.0) as usize] += 1.0);
                values[2] += 3.0 + far;
                values[7] -= 2.0 + far;
                let release = histogram(noise, 2.0 / epsilon, n, values);
                let records = Records::new(&release, xs).unwrap();
                for to in [2, 4, 7] {
                    let mut proposal = vec![0.0; 10];
                    proposal[to] = records.unit(to);
                    let law = law_of(noise, &records, &proposal);
                    let norm = norm_of(noise);
                    let (counts, _) =
                        frozen(Strategy::Bins, false, norm, &records, &proposal, 20_000, &mut rng);
                    let off = distance(&counts, &law);
                    let case = (noise, epsilon, n, far, to);
                    assert!(off < 4.8, "{case:?}: {off} standard deviations off");
                }
            }
        }
    }
}

/// Proposals of uniform numbers for a histogram of equal bins, each displaced from the middle of
/// its bin by a mark that identifies the proposal.
struct Marked {
    bins: usize,
    unit: f64,
    made: usize,
}

impl Marked {
    fn new(records: &Records) -> Self {
        Marked { bins: records.k(), unit: records.unit(0), made: 0 }
    }

    fn mark(bins: usize, bin: usize, mark: usize) -> f64 {
        (bin as f64 + 0.25 + 1e-6 * mark as f64) / bins as f64
    }

    /// The mark of a record.
    fn marked(&self, x: f64) -> usize {
        (((x * self.bins as f64).fract() - 0.25) * 1e6).round() as usize
    }
}

impl Proposals for Marked {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, 1, self.bins);
        let (records, statistics) = batch.parts_mut();
        statistics.fill(0.0);
        for (x, row) in records.iter_mut().zip(statistics.chunks_exact_mut(self.bins)) {
            let bin = rng.random_range(0..self.bins);
            *x = Marked::mark(self.bins, bin, self.made);
            row[bin] = self.unit;
            self.made += 1;
        }
        Ok(())
    }
}

fn kernel() -> Kernel {
    Kernel::Soma(Soma::new())
}

/// In a sweep of several batches each record and each proposal survives as long as under the scan:
/// the replaced record is a uniform member of its bin.
#[test]
fn any_member_of_a_bin_is_replaced() {
    const N: usize = 180;
    const GROUPS: usize = 30;
    const SWEEPS: usize = 12_000;
    for noise in [Noise::Laplace, Noise::Gaussian] {
        let values = vec![100.0, 50.0, 30.0];
        let release = histogram(noise, 2.0, N, values);
        // Marks from N on are those of the initial records.
        let rows = (0..N).map(|i| Marked::mark(3, i % 3, N + i)).collect();
        let start = Records::new(&release, rows).unwrap();
        let last = |mut kernel: Kernel, seed: u64| {
            let mut rng = rng::stream(seed, 0);
            let (mut sums, mut squares) = ([0.0; GROUPS], [0.0; GROUPS]);
            for _ in 0..SWEEPS {
                let mut records = start.clone();
                let mut proposals = Marked::new(&records);
                let potential = potential_of(noise, records.k());
                kernel.sweep(&mut records, &mut proposals, &potential, &mut rng).unwrap();
                let mut kept = [0.0; GROUPS];
                for &x in records.all() {
                    kept[proposals.marked(x) * GROUPS / (2 * N)] += 1.0;
                }
                for (g, count) in kept.into_iter().enumerate() {
                    sums[g] += count / SWEEPS as f64;
                    squares[g] += count * count / SWEEPS as f64;
                }
            }
            (sums, squares)
        };
        let scan = last(Kernel::SomaScan(SomaScan::new()), 1);
        let bins = last(kernel(), 2);
        for g in 0..GROUPS {
            let variance = |(sums, squares): &([f64; GROUPS], [f64; GROUPS])| {
                (squares[g] - sums[g] * sums[g]) / SWEEPS as f64
            };
            let off = (scan.0[g] - bins.0[g]) / (variance(&scan) + variance(&bins)).sqrt();
            assert!(off.abs() < 4.5, "{noise:?}, {g}: {off} standard deviations off");
        }
    }
}

/// After two sweeps the joint distribution of the contents of any two places agrees with the scan.
#[test]
fn proposals_go_to_the_places_that_they_go_to_by_the_scan() {
    const N: usize = 7;
    const SWEEPS: usize = 400_000;
    let release = histogram(Noise::Laplace, 2.0, N, vec![3.0, 2.5, 1.0]);
    let rows = (0..N).map(|i| Marked::mark(3, i % 3, 2 * N + i)).collect();
    let start = Records::new(&release, rows).unwrap();
    // Marks are grouped by threes: 7 kinds.
    let kinds = 3 * N / 3;
    let held = |mut kernel: Kernel, seed: u64| {
        let mut rng = rng::stream(seed, 0);
        let mut held = vec![0.0f64; N * N * kinds * kinds];
        for _ in 0..SWEEPS {
            let mut records = start.clone();
            let mut proposals = Marked::new(&records);
            for _ in 0..2 {
                let potential = l1(records.k());
                kernel.sweep(&mut records, &mut proposals, &potential, &mut rng).unwrap();
            }
            let kind: Vec<usize> = records.all().iter().map(|&x| proposals.marked(x) / 3).collect();
            for i in 0..N {
                for j in 0..i {
                    held[((i * N + j) * kinds + kind[i]) * kinds + kind[j]] += 1.0;
                }
            }
        }
        held
    };
    let scan = held(Kernel::SomaScan(SomaScan::new()), 1);
    let bins = held(kernel(), 2);
    let mut worst: f64 = 0.0;
    for (&a, &b) in scan.iter().zip(&bins).filter(|(a, b)| *a + *b > 50.0) {
        worst = worst.max((a - b).abs() / (a + b).sqrt());
    }
    // The maximum of about a thousand.
    assert!(worst < 4.8, "{worst} standard deviations off");
}

/// The bins agree with the records after replacements, both if the bin of a record is stored and,
/// with many bins, if the statistic is.
#[test]
fn bins_follow_the_records() {
    for (noise, bins) in
        [(Noise::DiscreteLaplace, 10), (Noise::Gaussian, 10), (Noise::Laplace, 300)]
    {
        let values = (0..bins).map(|b| f64::from(600 / bins * (b % 2))).collect();
        let release = histogram(noise, 1.3, 300, values);
        let rows = (0..300).map(|i| f64::from(i) / 300.0).collect();
        let mut records = Records::new(&release, rows).unwrap();
        let mut kernel = kernel();
        let mut proposals = Marked::new(&records);
        let mut rng = rng::stream(13, 0);
        for _ in 0..3 {
            let potential = potential_of(noise, records.k());
            kernel.sweep(&mut records, &mut proposals, &potential, &mut rng).unwrap();
        }
        let Kernel::Soma(soma) = &kernel else { unreachable!() };
        match norm_of(noise) {
            Norm::L1 => soma.bins.check::<_, Portable>(&L1, &records),
            Norm::L2 => soma.bins.check::<_, Portable>(&L2, &records),
        }
        let fresh = Records::new(&release, records.all().to_vec()).unwrap();
        (0..300).for_each(|i| assert_eq!(records.statistic(i), fresh.statistic(i)));
        for (kept, right) in records.residual().iter().zip(fresh.residual()) {
            assert!((kept - right).abs() < 1e-9, "{kept} was kept, {right} is right");
        }
    }
}

/// Whole chains agree with the scan's in acceptance rate and in moments of the records.
#[test]
fn chains_of_bins_agree_with_the_scan() {
    for scale in [2.0, 0.1] {
        let release = histogram(Noise::Laplace, scale, 12, vec![9.0, 1.5, 0.0, -2.0, 4.0]);
        let rows = (0..12).map(|i| f64::from(i) / 12.0).collect();
        let start = Records::new(&release, rows).unwrap();
        let run =
            |kernel, seed| chains::summaries(kernel, start.clone(), &mut Marked::new(&start), seed);
        let reference = run(Kernel::SomaScan(SomaScan::new()), 1);
        chains::assert_agree(&reference, &run(kernel(), 2), "bins");
    }
}
