use std::sync::Arc;

use super::*;
use crate::model::testing::*;
use crate::release::query::{LogSum, Mean};
use crate::release::{Aggregate, Mechanism, Query, mechanism::Noise};
use crate::rng::stream;

fn model(dim: usize) -> Dirichlet {
    Dirichlet::new(vec![GammaPrior::new(2.0, 0.5).unwrap(); dim]).unwrap()
}

fn records(theta: &[f64], n: usize) -> Vec<f64> {
    let mut records = vec![0.0; n * theta.len()];
    model(theta.len()).propose(theta, &mut records, &mut stream(5, 0)).unwrap();
    records
}

#[test]
fn coupled_updates_leave_prior_times_density_invariant() {
    for (theta, n) in [(vec![2.0, 5.0], 8), (vec![0.6, 1.5, 8.0], 30), (vec![3.0; 3], 1)] {
        let other: Vec<f64> = theta.iter().map(|alpha| 1.1 * alpha).collect();
        let model = model(theta.len());
        assert_coupled_update(&model, &theta, [&records(&theta, n), &records(&other, n)]);
    }
}

#[test]
fn prior_draws_follow_the_prior() {
    assert_prior(&model(3), 50_000);
    let mixed = vec![GammaPrior::new(1.0, 0.1).unwrap(), GammaPrior::new(4.0, 2.0).unwrap()];
    assert_prior(&Dirichlet::new(mixed).unwrap(), 50_000);
}

#[test]
fn updates_leave_prior_times_density_invariant() {
    for (theta, n) in [(vec![2.0, 5.0], 8), (vec![0.6, 1.5, 8.0], 30), (vec![3.0; 3], 1)] {
        assert_update(&model(theta.len()), &theta, &records(&theta, n), 20_000);
    }
}

/// Two alphas given four records, compared with quadrature.
#[test]
fn update_has_the_moments_of_quadrature() {
    let model = model(2);
    let records = [0.2, 0.8, 0.35, 0.65, 0.1, 0.9, 0.55, 0.45];
    let log_posterior = |theta: &[f64]| {
        let likelihood: f64 =
            records.chunks_exact(2).map(|x| model.log_density(theta, x).unwrap()).sum();
        model.log_prior(theta).unwrap() + likelihood
    };
    let grid: Vec<f64> = (0..300).map(|i| (-3.5 + 7.5 * (i as f64 + 0.5) / 300.0).exp()).collect();
    let mut sums = [0.0; 3];
    for &a in &grid {
        for &b in &grid {
            let weight = (log_posterior(&[a, b])).exp() * a * b;
            sums[0] += weight;
            sums[1] += weight * a;
            sums[2] += weight * a * b;
        }
    }
    let mut theta = vec![1.0, 1.0];
    let mut rng = stream(6, 0);
    let (mut first, mut product) = (Vec::new(), Vec::new());
    for _ in 0..40_000 {
        model.update(&mut theta, &records, &mut rng).unwrap();
        first.push(theta[0]);
        product.push(theta[0] * theta[1]);
    }
    assert_mean("alpha1", &first, sums[1] / sums[0]);
    assert_mean("alpha1 alpha2", &product, sums[2] / sums[0]);
}

/// At fixed records an update is worth at least half an independent draw.
#[test]
fn updates_mix() {
    for (theta, n) in [
        (vec![3.0, 0.4, 5.0], 3000),
        (vec![3.0, 0.4, 5.0], 3),
        (vec![0.1, 30.0, 200.0], 100),
        (vec![2.0; 8], 50),
    ] {
        let (records, model) = (records(&theta, n), model(theta.len()));
        let mut state = theta.clone();
        let mut rng = stream(7, 0);
        let draws: Vec<Vec<f64>> = (0..4000)
            .map(|_| {
                model.update(&mut state, &records, &mut rng).unwrap();
                state.iter().map(|alpha| alpha.ln()).collect()
            })
            .collect();
        for c in 0..theta.len() {
            let column: Vec<f64> = draws.iter().map(|draw| draw[c]).collect();
            let (mean, error) = mean_and_error(&column);
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
            let per_update = variance / (error * error) / 4000.0;
            // With 50 batches the estimate has a relative error of a fifth.
            assert!(per_update > 0.5, "{theta:?}, n = {n}, alpha{}: {per_update}", c + 1);
        }
    }
}

#[test]
fn density_integrates_to_one() {
    let theta = [2.5, 1.5, 3.0];
    let mass = integral(1e-9, 1.0 - 1e-9, |x| {
        let h = (1.0 - x) / 400.0;
        let inner = (0..400).map(|i| {
            let y = h * (i as f64 + 0.5);
            model(3).log_density(&theta, &[x, y, 1.0 - x - y]).unwrap().exp()
        });
        inner.sum::<f64>() * h
    });
    assert!((mass - 1.0).abs() < 1e-3, "{mass}");
}

#[test]
fn proposals_follow_the_density() {
    assert_proposals(&model(3), &[2.0, 1.0, 4.0], &[2.3, 1.2, 4.0]);
    assert_proposals(&model(3), &[0.06, 0.3, 4.0], &[0.08, 0.3, 5.0]);
    for record in records(&[0.3, 0.05, 7.0], 1000).chunks_exact(3) {
        assert!((record.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn tiny_alphas_give_positive_shares() {
    assert!(records(&[1e-3, 1e-2, 1e-4], 1000).iter().all(|&x| x > 0.0 && x <= 1.0));
}

#[test]
fn transport_is_one_to_one_and_gives_standard_noise() {
    let mut rng = stream(3, 0);
    for theta in [vec![2.0, 1.0, 4.0], vec![0.05, 0.4, 3.0, 0.2], vec![500.0, 0.1]] {
        assert_transport(&model(theta.len()), &theta, &mut rng);
        let other: Vec<f64> = theta.iter().map(|alpha| 1.7 * alpha + 0.3).collect();
        assert_jacobian(&model(theta.len()), &[theta, other]);
    }
}

/// Extreme noise makes the round trip through shares near 0 or 1.
#[test]
fn extreme_noise_comes_back() {
    let alphas: [f64; 5] = [0.05, 0.5, 3.0, 40.0, 500.0];
    let noises: [f64; 7] = [-8.0, -3.1, -0.4, 0.0, 1.3, 4.6, 8.0];
    for a in alphas {
        for b in alphas {
            for c in alphas {
                for e in noises {
                    for f in noises {
                        let (mut record, mut back) = ([0.0; 3], [0.0; 2]);
                        model(3).forward(&[a, b, c], &[e, f], &mut record).unwrap();
                        // Two extreme stages can underflow a share.
                        if record.contains(&f64::MIN_POSITIVE) {
                            continue;
                        }
                        model(3).inverse(&[a, b, c], &record, &mut back).unwrap();
                        let gap = (back[0] - e).abs().max((back[1] - f).abs());
                        assert!(gap < 1e-9, "{:?} at {:?}: {back:?}", [e, f], [a, b, c]);
                    }
                }
            }
        }
    }
}

fn release(query: impl Query + 'static, n: usize, values: Vec<f64>, scale: f64) -> Release {
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; values.len()]).unwrap();
    Release::new(Arc::new(query), mechanism, Aggregate::Mean, n, values).unwrap()
}

/// The paper's time use: the start has the released mean logarithms.
#[test]
fn starts_stand_near_a_sharp_release() {
    let values = vec![-0.9118530751, -3.3123451150, -0.6333451163];
    let query = LogSum::new(3, (0.0006944, 1.0)).unwrap();
    let starts = starts(&model(3), &release(query, 3528, values.clone(), 0.000618));
    for (k, value) in values.iter().enumerate() {
        let logs: Vec<f64> =
            starts.iter().map(|alpha| digamma(alpha[k]) - digamma(alpha.iter().sum())).collect();
        let (mean, error) = mean_and_error(&logs);
        assert!((mean - value).abs() < 0.05, "{mean} for {value}");
        assert!(error > 1e-4, "all starts are alike");
    }
}

#[test]
fn starts_are_sane_for_absurd_releases() {
    for value in [-1e300, -3.0, 0.0, 0.5, 1e300] {
        for scale in [1e-9, 1.0, 1e12] {
            for n in [1, 1_000_000] {
                let query = LogSum::new(3, (0.0006944, 1.0)).unwrap();
                starts(&model(3), &release(query, n, vec![value; 3], scale));
                let query = Mean::new(vec![(0.0, 1.0); 3]).unwrap();
                starts(&model(3), &release(query, n, vec![value; 3], scale));
            }
        }
    }
}

#[test]
fn bad_input_is_refused() {
    assert!(Dirichlet::new(vec![GammaPrior::new(1.0, 1.0).unwrap()]).is_err());
    assert!(GammaPrior::new(-1.0, 1.0).is_err());
    assert_eq!(model(2).check_theta(&[1.0, 0.0]).unwrap_err().field, "alpha2");
}

/// Priors so sharp that the slice is thousands of intervals away from the start: an update has the
/// usual cost, and a chain finds the mode in a few of them.
#[test]
fn updates_under_extreme_priors_end() {
    for (shape, rate) in [(1e12, 1.0), (1e12, 1e12), (1e-6, 1e-6), (1e300, 1.0), (1.0, 1e300)] {
        let model = Dirichlet::new(vec![GammaPrior::new(shape, rate).unwrap(); 3]).unwrap();
        let mut rng = stream(9, 0);
        let mut theta = vec![1e6, 2.0, 0.5];
        for _ in 0..20 {
            // An error is acceptable if there is no finite density.
            if model.update(&mut theta, &[0.2, 0.3, 0.5], &mut rng).is_err() {
                break;
            }
        }
        if (shape, rate) == (1e12, 1e12) {
            assert!(theta.iter().all(|alpha| (alpha - 1.0).abs() < 1e-5), "{theta:?}");
        }
    }
}

#[test]
fn draws_are_pinned() {
    assert_pinned(
        &first_draws(&model(3), &[2.0, 1.0, 4.0]),
        &[
            2.762986410639297,
            4.269267540574282,
            2.5435435558492254,
            0.12144247432493345,
            0.31847658054736705,
            0.5600809451276995,
            0.3213638077961493,
            0.059534672161206975,
            0.6191015200426437,
            1.027232834070662,
            1.0852917939362325,
            5.63329734656592,
        ],
    );
}
