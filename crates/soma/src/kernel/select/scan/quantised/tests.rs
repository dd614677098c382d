//! Masses compared with the weights that they bound.

use std::sync::Arc;

use pulp::Arch;
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::kernel::select::scan::quantised::*;
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::query::Mean;
use crate::release::{Aggregate, Release};
use crate::rng;
use crate::simd::cost::{Cost, L1};
use crate::simd::specialise::{Work, specialised};

/// n records with a release `far` noise scales away.
fn problem(n: usize, k: usize, scale: f64, far: f64, rng: &mut Rng) -> Records {
    let rows = (0..n * k).map(|_| rng.sample::<f64, _>(StandardNormal)).collect();
    let query = Arc::new(Mean::new(vec![(-5.0, 5.0); k]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; k]).unwrap();
    let values = (0..k).map(|c| far * scale * (1.0 - 2.0 * (c % 2) as f64)).collect();
    let release = Release::new(query, mechanism, Aggregate::Sum, n, values).unwrap();
    Records::new(&release, rows).unwrap()
}

/// Proposals are weighed and accepted one after the other.
struct Weighed<'a> {
    records: Records,
    /// Whether the range is computed from all records.
    all: bool,
    rng: &'a mut Rng,
}

impl Work for Weighed<'_> {
    /// The number of proposals that could be quantised.
    type Output = usize;

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> usize {
        let Weighed { mut records, all, rng } = self;
        let (mut steps, mut weighed) = (Quantised::default(), 0);
        let (n, k) = (records.n(), records.k());
        if all {
            steps.suit_all::<S, V, K>(&records);
        } else {
            steps.suit::<S, V, K>(&records);
            steps.load::<V, K>(&records, 0..n);
        }
        for i in 0..n.min(40) {
            let unit = records.unit(0);
            let proposal: Vec<f64> =
                (0..k).map(|_| unit * rng.sample::<f64, _>(StandardNormal)).collect();
            let current: f64 = records.residual().iter().map(|r| r.abs()).sum();
            steps.weigh::<V, K>(records.residual(), &proposal, current);
            if !steps.quantiser.is_wide() {
                check::<S>(&steps, &records, &proposal);
                weighed += 1;
            }
            records.replace(i, &vec![0.0; k], &proposal);
            steps.replace::<V, K>(i, &proposal);
        }
        weighed
    }
}

/// Masses are upper bounds of the weights, nearly tight, and their sums are complete.
fn check<S: Cost>(steps: &Quantised, records: &Records, proposal: &[f64]) {
    let k = records.k();
    let surely = (1.0 - 2.0 * slack(k) * STEP) / LOOSE;
    let mut total = steps.none.len() - records.n();
    for i in 0..records.n() {
        let (column, row) = (i % 16 / 8 * 4 + i % 4, i % 8 / 4);
        let at = i / LANES * LANES + row * 8 + column;
        let (start, mass) = (steps.sums[at], steps.sums[at + 8] - steps.sums[at]);
        total += mass as usize;
        let apart = records.residual().iter().zip(proposal).map(|(r, y)| r - y);
        let cost: f64 = apart.zip(records.statistic(i)).map(|(apart, t)| S::cost(apart + t)).sum();
        let weight = steps.parts(cost);
        assert!(weight <= f64::from(mass), "{i}: mass {mass}, weight {weight}");
        assert!(f64::from(mass - 1) * surely <= weight, "{i}: mass {mass}, weight {weight}");
        for into in [0, mass / 2, mass - 1] {
            let point = steps.starts[column] + start + into;
            assert_eq!(steps.find(point), (i, into));
        }
    }
    assert_eq!(total, steps.starts[8] as usize);
    assert!(steps.starts[8] >= steps.fewest, "little is lost by rounding up");
}

#[test]
fn masses_stand_above_the_weights() {
    let mut rng = rng::stream(15, 0);
    for n in [1, 7, 16, 17, 100, 700] {
        for k in [1, 2, 3, 4, 9, 13] {
            for (scale, far) in [(10.0, 0.1), (1.0, 3.0), (0.5, 0.0), (0.5, 1e4), (0.01, 0.0)] {
                for (arch, all) in [(Arch::new(), true), (Arch::new(), false), (Arch::Scalar, true)]
                {
                    let records = problem(n, k, scale, far, &mut rng);
                    let work = Weighed { records, all, rng: &mut rng };
                    let weighed = specialised::<_, L1>(work, k, arch);
                    let is_wide = n > 1 && scale < 0.1;
                    if k <= 4 {
                        let most = if is_wide { 0 } else { n.min(40) };
                        assert_eq!(weighed, most, "n = {n}, k = {k}, scale {scale}");
                    }
                }
            }
        }
    }
}

/// A record outside the sample, or one that comes later, may be out of range.
#[test]
fn what_is_too_far_away_is_noticed() {
    let mut records = problem(200, 1, 10.0, 0.0, &mut rng::stream(16, 0));
    let far = [1000.0];
    records.replace(1, &[0.0], &far);
    let mut steps = Quantised::default();
    assert!(steps.suit::<L1, Portable, 1>(&records), "it was not looked at");
    steps.load::<Portable, 1>(&records, 16..32);
    assert!(!steps.quantiser.is_wide());
    let mut others = steps.clone();
    steps.load::<Portable, 1>(&records, 0..16);
    assert!(steps.quantiser.is_wide(), "it was loaded");
    others.replace::<Portable, 1>(3, &far);
    assert!(others.quantiser.is_wide(), "it came later");
    assert!(!Quantised::default().suit_all::<L1, Portable, 1>(&records));
}
