use std::sync::Arc;

use super::*;
use crate::model::testing::*;
use crate::release::query::Gram;
use crate::release::{Aggregate, Mechanism, mechanism::Noise};
use crate::rng::stream;

fn paper() -> Regression {
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
    Regression::new(vec![0.9, -1.17], None, prior).unwrap()
}

/// p predictors, with generic values.
fn general(p: usize) -> Regression {
    let covariance =
        DMatrix::from_fn(
            p,
            p,
            |i, j| {
                if i == j { 1.5 + i as f64 } else { 0.4 - 0.1 * j.min(i) as f64 }
            },
        );
    let precision =
        DMatrix::from_fn(p + 1, p + 1, |i, j| if i == j { 2.0 + i as f64 } else { 0.3 });
    let mean = (0..=p).map(|j| j as f64 - 0.5).collect();
    let prior = NormalInverseGamma::new(mean, &precision, 6.0, 4.0).unwrap();
    Regression::new((0..p).map(|j| 0.5 * j as f64 - 0.7).collect(), Some(covariance), prior)
        .unwrap()
}

fn theta(p: usize) -> Vec<f64> {
    let coefficients = (0..=p).map(|j| 0.3 - 0.7 * j as f64);
    coefficients.chain([0.8]).collect()
}

#[test]
fn coupled_updates_follow_prior_times_density() {
    let mut rng = stream(2, 1);
    for p in [1, 3] {
        let mut records = vec![0.0; 7 * (p + 1)];
        general(p).propose(&theta(p), &mut records, &mut rng).unwrap();
        let other: Vec<f64> = records.iter().map(|x| 1.05 * x + 0.1).collect();
        assert_coupled_update(&general(p), &theta(p), [&records, &other]);
    }
}

#[test]
fn prior_draws_follow_the_prior() {
    assert_prior(&paper(), 50_000);
    assert_prior(&general(1), 50_000);
    assert_prior(&general(4), 50_000);
}

#[test]
fn updates_follow_prior_times_density() {
    let mut rng = stream(2, 0);
    for p in [1, 2, 3, 5] {
        let mut records = vec![0.0; 7 * (p + 1)];
        general(p).propose(&theta(p), &mut records, &mut rng).unwrap();
        assert_update(&general(p), &theta(p), &records, 20_000);
    }
}

/// Predictors far from zero give the same slope and residuals as centred ones: under a vague prior
/// of the intercept the two problems are equivalent.
#[test]
fn predictors_far_from_zero_lose_no_digits() {
    let law = |centre: f64| {
        let precision = DMatrix::from_diagonal(&vec![1e-20, 1.0].into());
        let prior = NormalInverseGamma::new(vec![0.0; 2], &precision, 3.0, 2.0).unwrap();
        let model = Regression::new(vec![centre], None, prior).unwrap();
        let record = |i: i32| {
            let (x, noise) = ((0.7 * f64::from(i)).sin(), (1.3 * f64::from(i)).cos());
            [centre + x, 0.5 + 2.0 * x + 0.3 * noise]
        };
        let records: Vec<f64> = (0..40).flat_map(record).collect();
        model.posterior(&records).unwrap()
    };
    let (near, far) = (law(0.0), law(1e7));
    assert!((near.mean[1] - far.mean[1]).abs() < 1e-4, "{}, {}", near.mean[1], far.mean[1]);
    assert!((near.rate / far.rate - 1.0).abs() < 1e-4, "{}, {}", near.rate, far.rate);
}

#[test]
fn prior_is_normalised() {
    let covariance = DMatrix::identity(1, 1) * 2.0;
    let prior = NormalInverseGamma::new(vec![0.4], &covariance, 3.0, 2.0).unwrap();
    let mass = integral(-8.0, 12.0, |log| {
        let sigma2 = log.exp();
        let spread = 9.0 * sigma2.sqrt();
        let inner = |beta| prior.log_density(&[beta, sigma2]).exp() * sigma2;
        let h = spread / 200.0;
        (-200..=200).map(|i| inner(0.4 + h * i as f64)).sum::<f64>() * h
    });
    assert!((mass - 1.0).abs() < 1e-8, "{mass}");
}

#[test]
fn density_is_the_product_of_two_normals() {
    let model = general(2);
    let covariance = {
        let factor = DMatrix::from_row_slice(2, 2, &model.factor);
        &factor * factor.transpose()
    };
    let (theta, record) = (theta(2), [0.2, 1.3, -0.4]);
    let gap = nalgebra::DVector::from_vec(vec![0.2 - model.centre[0], 1.3 - model.centre[1]]);
    let quadratic = gap.dot(&(covariance.clone().try_inverse().unwrap() * &gap));
    let two_pi = 2.0 * std::f64::consts::PI;
    let response = record[2] - theta[0] - theta[1] * 0.2 - theta[2] * 1.3;
    let expected = -0.5 * quadratic
        - 0.5 * covariance.determinant().ln()
        - two_pi.ln()
        - 0.5 * response * response / theta[3]
        - 0.5 * (two_pi * theta[3]).ln();
    assert!((model.log_density(&theta, &record).unwrap() - expected).abs() < 1e-12);
}

#[test]
fn proposals_follow_the_density() {
    for p in [1, 2, 4] {
        let other: Vec<f64> = theta(p).iter().map(|v| v * 0.9).collect();
        assert_proposals(&general(p), &theta(p), &other);
    }
}

#[test]
fn transport_is_one_to_one_and_gives_standard_noise() {
    let mut rng = stream(3, 0);
    for p in [1, 2, 3, 4] {
        assert_transport(&general(p), &theta(p), &mut rng);
        let mut other = theta(p);
        other[0] = -1.0;
        other[p + 1] = 2.5;
        assert_jacobian(&general(p), &[theta(p), other]);
    }
}

fn release(n: usize, values: Vec<f64>, scale: f64) -> Release {
    let query = Gram::with_range(2, (-6.0, 6.0)).unwrap();
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; 9]).unwrap();
    Release::new(Arc::new(query), mechanism, Aggregate::Mean, n, values).unwrap()
}

/// The release of the paper at n = 100, epsilon = 30, whose records had
/// y = -1.79 - 2.89 x1 - 0.66 x2 with sigma2 = 1.13.
#[test]
fn starts_stand_near_a_sharp_release_and_are_dispersed() {
    let values = vec![
        -0.5359438, -0.1340048, 0.0850866, 0.4365204, 0.1517195, -0.1786854, 0.0483186, -0.0279875,
        0.0599539,
    ];
    let starts = starts(&paper(), &release(100, values, 13.0 / 3000.0));
    let column = |c: usize| starts.iter().map(|theta| theta[c]).collect::<Vec<f64>>();
    let (slope, _) = mean_and_error(&column(1));
    assert!((slope + 2.89).abs() < 1.0, "{slope}");
    let sd = column(1).iter().map(|b| (b - slope).powi(2)).sum::<f64>() / 200.0;
    assert!(sd.sqrt() > 0.1 && sd.sqrt() < 1.0, "{sd}");
}

#[test]
fn starts_are_sane_for_absurd_releases() {
    for value in [0.0, 1.0, -1.0, 1e300, -1e300] {
        for scale in [1e-12, 1e-3, 1.0, 1e12] {
            for n in [1, 10, 1_000_000] {
                starts(&paper(), &release(n, vec![value; 9], scale));
            }
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let precision = DMatrix::identity(3, 3);
    let prior = || NormalInverseGamma::new(vec![0.0; 3], &precision, 1.0, 1.0).unwrap();
    assert!(Regression::new(vec![], None, prior()).is_err());
    assert!(Regression::new(vec![0.0], None, prior()).is_err());
    assert!(Regression::new(vec![0.0, f64::NAN], None, prior()).is_err());
    let flat = DMatrix::from_element(2, 2, 1.0);
    let refused = Regression::new(vec![0.0; 2], Some(flat), prior()).unwrap_err();
    assert_eq!(refused.field, "predictors.covariance");
    let skew = DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 0.1, 2.0]);
    assert!(Regression::new(vec![0.0; 2], Some(skew), prior()).is_err());
    assert!(NormalInverseGamma::new(vec![0.0; 2], &precision, 1.0, 1.0).is_err());
    assert!(NormalInverseGamma::new(vec![0.0; 3], &precision, 0.0, 1.0).is_err());
    assert_eq!(paper().check_theta(&[0.0, 0.0, 0.0, -1.0]).unwrap_err().field, "sigma2");
}

#[test]
fn draws_are_pinned() {
    assert_pinned(
        &first_draws(&paper(), &[-1.79, -2.89, -0.66, 1.13]),
        &[
            0.4977031379874166,
            -1.6839247012980791,
            -0.49890409099385236,
            1.116728556864326,
            1.6676635410837124,
            -1.3683897348467688,
            -6.770694255012335,
            2.873684403304002,
            0.06090227763278033,
            -10.193470884462002,
            -2.101258564406441,
            -2.968699228120555,
            -0.5503229410670937,
            1.1487938950248178,
        ],
    );
}
