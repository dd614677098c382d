//! The affine fast path compared with the records themselves.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::*;
use crate::model::{Model, Normal, NormalInverseGamma, Regression};
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::query::{Gram, Mean};
use crate::release::{Aggregate, Query, Release};
use crate::rng;

fn problem(query: impl Query + 'static, model: impl Model + 'static, n: usize) -> Problem {
    let k = query.dim();
    let mechanism =
        Mechanism::new(Noise::Laplace, (0..k).map(|k| 0.3 + 0.2 * k as f64).collect()).unwrap();
    let values = (0..k).map(|k| 0.1 * k as f64).collect();
    let release = Release::new(Arc::new(query), mechanism, Aggregate::Sum, n, values).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

fn regression(p: usize, n: usize) -> Problem {
    let precision = DMatrix::identity(p + 1, p + 1);
    let prior = NormalInverseGamma::new(vec![0.2; p + 1], &precision, 5.0, 4.0).unwrap();
    let covariance = DMatrix::from_fn(p, p, |i, j| if i == j { 1.3 } else { 0.4 });
    let model = Regression::new(vec![0.3; p], Some(covariance), prior).unwrap();
    problem(Gram::with_range(p, (-1.5, 2.5)).unwrap(), model, n)
}

fn close(a: &[f64], b: &[f64], most: f64) {
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < most * (1.0 + b.abs()), "{a} for {b}");
    }
}

/// The affine fast path compared with records, statistics and differences.
#[test]
fn the_short_way_gives_the_sums_of_the_records() {
    let normal = Normal::new(0.0, 1.0, 4.0, 3.0).unwrap();
    let of_normal = problem(Mean::new(vec![(-1.0, 2.0)]).unwrap(), normal, 11);
    for problem in [of_normal, regression(1, 8), regression(2, 13), regression(3, 21)] {
        let mut rng = rng::stream(3, 0);
        let mut theta = vec![0.0; problem.model().parameters().len()];
        problem.model().sample_prior(&mut theta, &mut rng).unwrap();
        let records = crate::chain::start::records(&problem, &theta, &mut rng).unwrap();
        let state = State { theta, records };
        let short = Sums::new(&problem).unwrap();
        assert!(short.has_quick_slopes());
        let mut long = Sums::new(&problem).unwrap();
        long.affine = None;
        let (mut standardised, mut scratch) = (Standardised::default(), Scratch::default());
        let mut point = Vec::new();
        assert!(
            short.split(&state, &mut standardised, &mut scratch, &mut point, &mut rng).unwrap()
        );
        let (k, dim) = (short.k, short.dim());
        let mut found = [vec![0.0; k], vec![0.0; k]];
        assert!(short.residual(&point, &standardised, &mut scratch, &mut found[0]).unwrap());
        close(&found[0], state.records.residual(), 1e-10);
        point.iter_mut().enumerate().for_each(|(i, x)| *x += 0.1 - 0.03 * i as f64);
        let mut slopes = [vec![0.0; k * dim], vec![0.0; k * dim]];
        for (i, sums) in [&short, &long].into_iter().enumerate() {
            let (to, slope) = (&mut found[i], &mut slopes[i]);
            assert!(
                sums.residual_and_slope(&point, &standardised, &mut scratch, to, slope).unwrap()
            );
        }
        close(&found[0], &found[1], 1e-10);
        close(&slopes[0], &slopes[1], 2e-3);
        let mut pulls = [vec![0.0; dim], vec![0.0; dim]];
        for (i, sums) in [&short, &long].into_iter().enumerate() {
            let (to, pull) = (&mut found[i], &mut pulls[i]);
            let (spring, room) = (|_: usize, r: f64| r.tanh(), &mut Vec::new());
            assert!(
                sums.residual_and_pull(&point, &standardised, spring, &mut scratch, to, room, pull)
                    .unwrap()
            );
        }
        close(&pulls[0], &pulls[1], 2e-3);
        let mut built = [state.records.all().to_vec(), state.records.all().to_vec()];
        for (sums, records) in [&short, &long].into_iter().zip(&mut built) {
            let mut theta = state.theta.clone();
            sums.join(&point, &standardised, &mut scratch, &mut theta, records).unwrap();
        }
        close(&built[0], &built[1], 1e-10);
    }
}
