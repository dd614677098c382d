//! Exact answers for two categories with p ~ U(0, 1), by enumeration.

use std::sync::Arc;

use super::*;
use crate::model::testing::{assert_mean, mean_and_error};

/// A likelihood that is a function of the true answer.
struct Given(f64, f64, Box<dyn Fn(f64) -> f64 + Send + Sync>);

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a law around {}", self.0)
    }
}

impl CountLaw for Given {
    fn log_density(&self, truth: f64) -> f64 {
        self.2(truth)
    }

    fn centre(&self) -> f64 {
        self.0
    }

    fn sd(&self) -> f64 {
        self.1
    }
}

pub(super) fn given(
    centre: f64,
    sd: f64,
    law: impl Fn(f64) -> f64 + Send + Sync + 'static,
) -> Likelihood {
    Likelihood::Other(Arc::new(Given(centre, sd, Box::new(law))))
}

fn dl(scale: f64, value: f64) -> Likelihood {
    Likelihood::new(Noise::DiscreteLaplace, scale, value).unwrap()
}

fn dg(scale: f64, value: f64) -> Likelihood {
    Likelihood::new(Noise::DiscreteGaussian, scale, value).unwrap()
}

/// The likelihood of a value known only to be at most `upto`, under discrete Gaussian noise.
fn dg_at_most(scale: f64, upto: f64, centre: f64, sd: f64) -> Likelihood {
    let mass = |r: f64| Noise::DiscreteGaussian.log_density(scale, r).exp();
    let tail = |truth: i32| {
        let most = upto - f64::from(truth);
        (0..400).map(|k| mass(most - f64::from(k))).sum::<f64>().ln()
    };
    let tails: Vec<f64> = (0..400).map(tail).collect();
    given(centre, sd, move |truth| *tails.get(truth as usize).unwrap_or(&f64::NEG_INFINITY))
}

const FLAT: Total = Total::Unknown(SizePrior::Flat);

/// Mean and standard deviation of n (if unknown) and of the first share.
fn assert_answers(laws: Vec<(&[usize], Likelihood)>, total: Total, n: &[f64], p: &[f64]) {
    let row = |(k, (cells, law)): (usize, (&[usize], Likelihood))| {
        Published::sum(k.to_string(), cells, law)
    };
    let rows = laws.into_iter().enumerate().map(row).collect();
    let problem = CountProblem::new(list(2), rows, total, flat(2)).unwrap();
    let columns = columns(&problem, 3, 500, 100_000);
    let mut check = vec![("p0", &columns[0], p)];
    if total == FLAT {
        check.push(("n", &columns[columns.len() - 1], n));
    }
    for (what, values, expected) in check {
        assert_mean(what, values, expected[0]);
        if let Some(sd) = expected.get(1) {
            let squares: Vec<f64> = values.iter().map(|x| (x - expected[0]).powi(2)).collect();
            let (variance, error) = mean_and_error(&squares);
            // The answers are rounded to five digits.
            assert!(
                (variance - sd * sd).abs() < 4.5 * error + 1e-4 * sd * sd,
                "{what}: {variance}"
            );
        }
    }
}

#[test]
fn discrete_laplace_with_n_unknown_and_known() {
    let cells = || vec![(&[0][..], dl(2.0, 12.0)), (&[1][..], dl(2.0, 3.0))];
    assert_answers(cells(), FLAT, &[14.65882, 3.67940], &[0.74876, 0.14821]);
    assert_answers(cells(), Total::Known(15), &[], &[0.76105, 0.12336]);
    let mut noisy = cells();
    noisy.push((&[0, 1], dl(1.0, 18.0)));
    assert_answers(noisy, FLAT, &[17.49698, 1.28412], &[0.72971, 0.13017]);
}

#[test]
fn rounded_laplace() {
    let law = |value: f64| {
        given(value, 1.5, move |truth| {
            let k = (value - truth).abs();
            if k == 0.0 { -(-0.5_f64).exp_m1() } else { (-k).exp() * 0.5_f64.sinh() }.ln()
        })
    };
    let laws = vec![(&[0][..], law(12.0)), (&[1][..], law(3.0))];
    assert_answers(laws, FLAT, &[14.82375, 1.97504], &[0.76733, 0.11781]);
}

#[test]
fn suppressed_cell() {
    let hidden = dg_at_most(10.0, 90.0, 50.0, 40.0);
    let laws = vec![(&[0][..], dg(10.0, 95.0)), (&[1][..], hidden)];
    assert_answers(laws, FLAT, &[134.42127, 28.80773], &[0.72406, 0.14689]);
}

#[test]
fn clamped_at_zero() {
    let clamped = dg_at_most(3.0, 0.0, 0.0, 3.0);
    let laws = vec![(&[0][..], dg(3.0, 12.0)), (&[1][..], clamped)];
    assert_answers(laws, FLAT, &[12.72071], &[0.83629, 0.13088]);
    let ignored = vec![(&[0][..], dg(3.0, 12.0)), (&[1][..], dg(3.0, 0.0))];
    assert_answers(ignored, FLAT, &[13.17137], &[0.81429, 0.13813]);
}
