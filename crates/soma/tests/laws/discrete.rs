//! Every kernel on every toy problem: its theoretical transition matrix, and its empirical
//! transitions.

use nalgebra::DVector;
use rand::RngExt;
use soma::rng::stream;
use soma::theory;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::kernels::{ALL, Law};
use crate::matrices::{Move, asymptotic_variance, imbalance, moves, one_move, sweep, target};
use crate::toys::{Toy, ToyProposals};

/// Each single move is a transition matrix that leaves pi invariant, by detailed balance; so does a
/// sweep, which is reversible only if all its moves are the same.
#[test]
fn theory_is_sound() {
    for toy in Toy::all() {
        let pi = target(&toy);
        for law in ALL {
            for one in moves(&toy, law) {
                assert!((one.matrix.column_sum().add_scalar(-1.0)).amax() < 1e-13);
                assert!(one.matrix.min() >= 0.0);
                assert!(imbalance(&one.matrix, &pi) < 1e-15, "{} on {}", law.name, toy.name);
            }
            let whole = sweep(&toy, law);
            let drift = whole.matrix.tr_mul(&pi) - &pi;
            assert!(drift.amax() < 1e-14, "{} on {}", law.name, toy.name);
            let unbalanced = imbalance(&whole.matrix, &pi);
            if law.reversible {
                assert!(unbalanced < 1e-14);
            } else if toy.n > 2 {
                assert!(unbalanced > 1e-4, "{} is reversible on {}", law.name, toy.name);
            }
        }
    }
}

/// Off-diagonal transition probabilities of SOMA are at most n times those of Ran-IMwG, and the
/// asymptotic variances have the paper's order.
#[test]
fn peskun_order_and_asymptotic_variances() {
    let mut rng = stream(11, 0);
    for toy in Toy::all() {
        let pi = target(&toy);
        let of = |name: &str| {
            let law = ALL.iter().find(|law| law.name == name).unwrap();
            one_move(&toy, &(law.places)(toy.n, 0)).matrix
        };
        let (soma, ran) = (of("soma"), of("ran-imwg"));
        for from in 0..toy.states() {
            for to in (0..toy.states()).filter(|&to| to != from) {
                assert!(soma[(from, to)] <= toy.n as f64 * ran[(from, to)] + 1e-15);
            }
        }
        for _ in 0..20 {
            let h = DVector::from_fn(toy.states(), |_, _| rng.random::<f64>());
            let (v_soma, v_ran) =
                (asymptotic_variance(&soma, &pi, &h), asymptotic_variance(&ran, &pi, &h));
            let mean = pi.dot(&h);
            let variance = pi.dot(&h.map(|x| (x - mean) * (x - mean)));
            let bound = theory::ran_variance(toy.n, v_soma, variance);
            assert!(v_ran <= bound * (1.0 + 1e-12), "{v_ran} above {bound} on {}", toy.name);
        }
    }
}

/// Sweeps from every state of the toy problem, in random order: counts of the final states, and the
/// excess of accepted proposals over their expectation.
fn observed(toy: &Toy, law: &Law, expected: &Move, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (release, states) = (toy.release(), toy.states());
    let potential = toy.potential();
    let mut rng = stream(seed, 0);
    let mut kernel = (law.build)(toy.n);
    let mut ends = vec![vec![0.0; states]; states];
    let mut excess = Vec::new();
    for _ in 0..SWEEPS * states {
        let from = rng.random_range(0..states);
        let mut records = toy.records(&release, from);
        let counts =
            kernel.sweep(&mut records, &mut ToyProposals(toy), &potential, &mut rng).unwrap();
        assert_eq!(counts.moves, toy.n as u64);
        ends[from][toy.state_of(&records)] += 1.0;
        excess.push(counts.accepted as f64 - expected.acceptance[from]);
    }
    (ends, excess)
}

/// The mean number of sweeps from each state.
const SWEEPS: usize = 8_000;

/// Pearson's statistic of counts and expectations, with small ones pooled, and its degrees of
/// freedom.
pub fn pearson(counts: &[f64], probabilities: impl Iterator<Item = f64>) -> (f64, f64) {
    let total: f64 = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0.0);
    let mut pooled = (0.0, 0.0);
    for (&count, p) in counts.iter().zip(probabilities) {
        let expected = total * p;
        if expected < 8.0 {
            pooled = (pooled.0 + count, pooled.1 + expected);
        } else {
            statistic += (count - expected) * (count - expected) / expected;
            cells += 1.0;
        }
    }
    if pooled.1 >= 8.0 {
        statistic += (pooled.0 - pooled.1) * (pooled.0 - pooled.1) / pooled.1;
        cells += 1.0;
    } else {
        assert!(pooled.0 < 40.0, "{} ends where {} are expected", pooled.0, pooled.1);
    }
    (statistic, cells - 1.0)
}

/// About 60 tests, each at level 1e-6: a false alarm for one in ten thousand seeds.
#[test]
fn sweeps_follow_the_theory() {
    for (number, toy) in Toy::all().iter().enumerate() {
        for law in ALL {
            let expected = sweep(toy, law);
            let (ends, excess) = observed(toy, law, &expected, 100 + number as u64);
            let (mut statistic, mut freedom) = (0.0, 0.0);
            for (from, counts) in ends.iter().enumerate() {
                let row = expected.matrix.row(from);
                let (part, degrees) = pearson(counts, row.iter().copied());
                (statistic, freedom) = (statistic + part, freedom + degrees);
            }
            let p = ChiSquared::new(freedom).unwrap().sf(statistic);
            assert!(p > 1e-6, "{} on {}: chi2 {statistic} on {freedom}", law.name, toy.name);
            let count = excess.len() as f64;
            let mean = excess.iter().sum::<f64>() / count;
            let error = (excess.iter().map(|x| x * x).sum::<f64>() / count / count).sqrt();
            assert!(
                mean.abs() < 5.0 * error,
                "{} on {}: {mean} +- {error} more proposals taken than expected",
                law.name,
                toy.name
            );
        }
    }
}
