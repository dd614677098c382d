//! The cheap couplings of SOMA compared with the maximal one: agreement and cost.

use std::sync::Arc;

use nalgebra::DMatrix;
use rand::RngExt;

use super::frozen::{Frozen, WAYS, Way};
use crate::chain::{Chain, Problem};
use crate::coupling::chains::CoupledChains;
use crate::kernel::KernelChoice;
use crate::model::{NormalInverseGamma, Regression};
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::{Aggregate, Release, query};
use crate::rng::{self, Rng};
use crate::simd::cost::{L1, L2};

const THETAS: [[f64; 4]; 2] = [[-1.79, -2.89, -0.66, 1.13], [-1.6, -2.7, -0.7, 1.3]];

/// The paper's regression with the values released at n = 100, used for n records.
fn regression(n: usize, epsilon: f64) -> Problem {
    let values = [-0.5120269, -0.1326493, 0.1553842, 0.4520016, 0.0471396];
    let values = [&values[..], &[-0.1216039, 0.0803059, -0.0676178, 0.0018717]].concat();
    let query = Arc::new(query::Gram::with_range(2, (-6.0, 6.0)).unwrap());
    let scale = 13.0 / (n as f64 * epsilon);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; 9]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, n, values).unwrap();
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
    let model = Regression::new(vec![0.9, -1.17], None, prior).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

/// Two chains after a few sweeps, with all but `apart` of their records in common.
fn frozen(problem: &Problem, apart: usize, is_common: bool, rng: &mut Rng) -> Frozen {
    let (n, d) = (problem.release().n(), problem.model().record_dim());
    let fixed = problem.clone().with_fixed(THETAS[0].to_vec(), Vec::new()).unwrap();
    let run = |start: Vec<f64>, rng: &mut Rng| {
        let stream = rng::stream(rng.random(), 0);
        let theta = THETAS[0].to_vec();
        let mut chain = Chain::at(&fixed, KernelChoice::Soma, theta, start, stream).unwrap();
        for _ in 0..20 {
            chain.step().unwrap();
        }
        chain.records().all().to_vec()
    };
    let draw = |theta: &[f64], count: usize, rng: &mut Rng| {
        let mut rows = vec![0.0; count * d];
        problem.model().propose(theta, &mut rows, rng).unwrap();
        rows
    };
    let first = run(draw(&THETAS[0], n, rng), rng);
    let other = run(first.clone(), rng);
    let mut second = first.clone();
    second[..apart * d].copy_from_slice(&other[..apart * d]);
    let y = draw(&THETAS[0], 1, rng);
    let z = if is_common { y.clone() } else { draw(&THETAS[1], 1, rng) };
    Frozen::new(problem.release(), [first, second], [y, z])
}

/// Records under Laplace or Gaussian noise of scale 1 whose sum is released, with the given
/// residual in the first chain.
fn numbers(noise: Noise, rows: [Vec<f64>; 2], residual: f64, proposals: [f64; 2]) -> Frozen {
    let all = rows.iter().flatten().copied().chain(proposals);
    let (low, high) = all.fold((0.0, 1.0), |(a, b), x| (f64::min(a, x), f64::max(b, x)));
    let query = Arc::new(query::Mean::new(vec![(low, high)]).unwrap());
    let mechanism = Mechanism::new(noise, vec![1.0]).unwrap();
    let released = vec![rows[0].iter().sum::<f64>() + residual];
    let release = Release::new(query, mechanism, Aggregate::Sum, rows[0].len(), released).unwrap();
    Frozen::new(&release, rows, proposals.map(|proposal| vec![proposal]))
}

/// One record whose weight attains the bound, and `n - 1` whose cost is larger by `dear`. The
/// second chain has it at another place, and two records that the first chain does not have.
fn one_heavy(noise: Noise, n: usize, dear: f64) -> Frozen {
    let first: Vec<f64> =
        (0..n).map(|i| if i == 0 { 0.0 } else { dear + 0.5 * i as f64 / n as f64 }).collect();
    let mut second = first.clone();
    second.swap(0, n / 2);
    second[n - 1] += 0.4;
    second[n - 2] -= 0.4;
    numbers(noise, [first, second], 1.0, [1.0, 1.0])
}

/// All records at one end of the box and the proposal at the other, so that the lower bound of W
/// that holds for all proposals is nearly tight.
fn far(noise: Noise, residual: f64, proposals: [f64; 2]) -> Frozen {
    numbers(noise, [vec![0.0, 0.1, 0.2], vec![0.0, 0.15, 0.15]], residual, proposals)
}

/// Two clusters so far apart that single precision loses much (90,000) or all (2,000,000) of the
/// precision of a weight.
fn two_clusters(apart: f64) -> Frozen {
    let n = 48;
    let place = |i: usize| if i % 3 == 2 { apart } else { 0.0 };
    let first: Vec<f64> = (0..n).map(|i| place(i) + 0.3 * (i % 16) as f64).collect();
    let mut second = first.clone();
    second.swap(18, 25);
    (second[16], second[19]) = (second[16] + 0.6, second[19] - 0.6);
    // The records of one chain have a wider range, so that the chains reject differently.
    (second[2], second[5]) = (second[2] + 0.45 * apart, second[5] - 0.45 * apart);
    numbers(Noise::Laplace, [first, second], 0.5, [1.5, 1.5])
}

/// From fixed pairs of states, each chain accepts at the places of the plain kernel, with their
/// probabilities.
#[test]
fn places_follow_the_law_of_the_plain_kernel() {
    let mut rng = rng::stream(41, 0);
    for (epsilon, apart, is_common) in
        [(3.0, 6, true), (3.0, 48, false), (30.0, 6, true), (30.0, 48, false)]
    {
        let frozen = frozen(&regression(48, epsilon), apart, is_common, &mut rng);
        for way in WAYS {
            let chance = frozen.chance::<L1>(way, 40_000, &mut rng);
            assert!(chance > 1e-6, "{way:?}, epsilon {epsilon}, {apart} apart: {chance}");
        }
    }
}

/// The same in limiting cases, in which the rare branches are taken all the time.
#[test]
fn places_follow_the_law_at_the_limits() {
    let mut rng = rng::stream(43, 0);
    let laplace = [
        ("one heavy of 24", one_heavy(Noise::Laplace, 24, 3.0)),
        ("one heavy of 200", one_heavy(Noise::Laplace, 200, 6.0)),
        (
            "one heavy of two",
            numbers(Noise::Laplace, [vec![0.0, 2.0], vec![2.0, 0.0]], 0.5, [0.5; 2]),
        ),
        ("far", far(Noise::Laplace, 0.0, [2.0, 2.0])),
        ("farther in one", far(Noise::Laplace, 0.0, [2.0, 1.2])),
        ("two clusters", two_clusters(9e4)),
        ("two clusters, too far apart", two_clusters(2e6)),
    ];
    for (name, frozen) in laplace {
        for way in WAYS {
            let chance = frozen.chance::<L1>(way, 40_000, &mut rng);
            assert!(chance > 1e-6, "{name}, {way:?}: {chance}");
        }
    }
    let gaussian = [
        ("one heavy of 24", one_heavy(Noise::Gaussian, 24, 2.5)),
        ("far", far(Noise::Gaussian, -1.0, [2.0, 2.0])),
    ];
    for (name, frozen) in gaussian {
        for way in WAYS {
            let chance = frozen.chance::<L2>(way, 40_000, &mut rng);
            assert!(chance > 1e-6, "{name} under Gaussian noise, {way:?}: {chance}");
        }
    }
}

/// The methods that are nearly the maximal coupling.
const NEAR: [Way; 3] = [Way::Bounds, Way::Darts, Way::Cells(32)];

/// The chains select the same place nearly as often as possible. By bounds: as often as under the
/// maximal coupling. By eight places at a time, for releases that are not sharp: hardly less than
/// (1 - TV) / (1 + TV), the agreement under rejection with common candidates, and on average over
/// all cases nearer to the maximal coupling than to that. By cells, for sharp releases: they
/// disagree less than 1.5 times as often as necessary.
#[test]
fn places_agree_nearly_as_often_as_they_can() {
    let mut parted = [(0.0, 0.0); 3];
    let mut rng = rng::stream(42, 0);
    for (epsilon, apart) in [(3.0, 10), (3.0, 100), (10.0, 10), (30.0, 10), (30.0, 100)] {
        for _ in 0..4 {
            let frozen = frozen(&regression(100, epsilon), apart, true, &mut rng);
            let shares = [0, 1].map(|side| {
                let weights = frozen.weights::<L1>(side, 0..100).0;
                let total: f64 = weights.iter().sum();
                weights.into_iter().map(|w| w / total).collect::<Vec<f64>>()
            });
            let overlap: f64 = shares[0].iter().zip(&shares[1]).map(|(p, q)| p.min(*q)).sum();
            for (way, parted) in NEAR.into_iter().zip(&mut parted) {
                if way == Way::Darts && epsilon > 3.0 {
                    continue;
                }
                let count = 10_000;
                let moves = frozen.moves::<L1>(way, count, 40.0, &mut rng);
                let same = moves.iter().filter(|[i, j]| i == j).count() as f64 / count as f64;
                let error = (overlap * (1.0 - overlap) / count as f64).sqrt();
                assert!(same < overlap + 4.5 * error, "{way:?}: {same}, at most {overlap}");
                let one_at_a_time = overlap / (2.0 - overlap);
                let least = match way {
                    Way::Bounds => overlap - 2e-3,
                    Way::Darts => 0.95 * one_at_a_time,
                    _ => 0.65 * one_at_a_time,
                };
                assert!(same > least - 4.5 * error, "{way:?}: {same}, at least {least}");
                *parted = (parted.0 + 1.0 - same, parted.1 + 1.0 - overlap);
            }
        }
    }
    for ((way, (parted, must)), most) in NEAR.into_iter().zip(parted).zip([1.03, 1.5, 1.5]) {
        println!("{way:?}: they part {:.3} times as often as they must", parted / must);
        assert!(parted < most * must, "{way:?}: {parted}, where they must {must}");
    }
}

/// A coupled move costs a few weights of each chain, for every n.
#[test]
fn a_move_costs_few_weights() {
    for (epsilon, most) in [(1.0, 9.0), (3.0, 11.0), (30.0, 14.0)] {
        for n in [1_000, 4_000] {
            let problem = regression(n, epsilon).with_fixed(THETAS[0].to_vec(), Vec::new());
            let problem = problem.unwrap();
            let mut pair = CoupledChains::new(&problem, KernelChoice::Soma, 1, 5, 0).unwrap();
            (0..2).for_each(|_| pair.step().unwrap());
            let before = pair.counts();
            (0..3).for_each(|_| pair.step().unwrap());
            let made = pair.counts() - before;
            assert_eq!(pair.met(), None, "they are apart");
            let each = made.evaluations as f64 / made.moves as f64;
            println!("epsilon {epsilon}, n = {n}: {each:.2} weights of each chain");
            assert!(each < most, "epsilon {epsilon}, n = {n}: {each} weights of each chain");
        }
    }
}
