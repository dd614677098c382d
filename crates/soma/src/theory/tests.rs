//! The bounds compared with the matrices of the proofs and with simulation.

use super::*;
use crate::rng::{Rng, stream};
use nalgebra::Matrix3;
use rand::RngExt;

const GRID: [f64; 8] = [0.0, 0.01, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0];

fn second_eigenvalue(rows: [f64; 9]) -> f64 {
    let values = Matrix3::from_row_slice(&rows).complex_eigenvalues();
    let mut values: Vec<f64> = values.iter().map(|z| z.norm()).collect();
    values.sort_by(f64::total_cmp);
    assert!((values[2] - 1.0).abs() < 1e-9);
    values[1]
}

#[test]
fn rates_are_the_eigenvalues_of_the_proof() {
    for epsilon in GRID {
        let e = epsilon.exp();
        let (down, up) = (soma_contraction(2, 1, epsilon), soma_expansion_of_two(epsilon));
        let apart = soma_contraction(2, 2, epsilon);
        let soma = [1.0, 0.0, 0.0, down, 1.0 - down - up, up, 0.0, apart, 1.0 - apart];
        let (down, up) = (ran_contraction(2, 1, epsilon), ran_expansion(2, 1, epsilon));
        let apart = ran_contraction(2, 2, epsilon);
        let ran = [1.0, 0.0, 0.0, down, 1.0 - down - up, up, 0.0, apart, 1.0 - apart];
        let (meet, part) = (1.0 / (e * e), (1.0 - 1.0 / e).powi(2));
        let row = [meet, 1.0 - meet - part, part];
        let sys = [1.0, 0.0, 0.0, row[0], row[1], row[2], row[0], row[1], row[2]];
        let close = |rate: Rate, value: f64| (rate.value() - value).abs() < 1e-7;
        assert!(close(soma_rate(epsilon), second_eigenvalue(soma)), "SOMA at {epsilon}");
        assert!(close(ran_rate(epsilon), second_eigenvalue(ran)), "Ran at {epsilon}");
        assert!(close(sys_rate(epsilon), second_eigenvalue(sys).sqrt()), "Sys at {epsilon}");
    }
}

#[test]
fn rates_are_the_formulas_of_the_theorem() {
    for epsilon in GRID {
        let e = epsilon.exp();
        let root = (e.powi(4) + 2.0 * e.powi(3) + 9.0 * e * e - 8.0 * e).sqrt();
        let soma = (e * e + 3.0 * e - 2.0 + root) / (2.0 * (1.0 + e).powi(2));
        let ran = (3.0 * e - 2.0 + (e * e + 4.0 * e - 4.0).sqrt()) / (4.0 * e);
        let sys = ((e + 1.0) * (e - 1.0)).sqrt() / e;
        assert!((soma_rate(epsilon).value() - soma).abs() < 1e-9);
        assert!((ran_rate(epsilon).value() - ran).abs() < 1e-9);
        assert!((sys_rate(epsilon).value() - sys).abs() < 1e-9);
    }
}

#[test]
fn large_epsilon_neither_overflows_nor_rounds_away() {
    for epsilon in [50.0, 200.0] {
        assert!((soma_rate(epsilon).gap.ln() - (4f64.ln() - 3.0 * epsilon)).abs() < 1e-9);
        assert!((ran_rate(epsilon).gap.ln() + 2.0 * epsilon).abs() < 1e-9);
        assert!((sys_rate(epsilon).gap.ln() - (0.5f64.ln() - 2.0 * epsilon)).abs() < 1e-9);
        assert!((soma_acceptance(7, epsilon).ln() - (7f64.ln() - epsilon)).abs() < 1e-9);
    }
    for epsilon in [1e3, 1e6, f64::INFINITY] {
        assert_eq!(soma_rate(epsilon).value(), 1.0);
        assert_eq!(soma_acceptance(10, epsilon), 0.0);
        assert_eq!(soma_expansion_of_two(epsilon), 1.0);
        assert_eq!(soma_expansion(5, 2, epsilon), 1.0);
        assert_eq!(soma_contraction(5, 5, epsilon), 0.0);
    }
}

#[test]
fn moves_to_a_level() {
    let rate = Rate { gap: 0.25 };
    assert!((0.75f64.powf(rate.moves(0.01)) - 0.01).abs() < 1e-12);
}

/// Two states with `d` different records and a common proposal: the probabilities of one SOMA
/// move of the coupling, over its index and acceptance uniforms.
struct Pair {
    d: usize,
    weights: [Vec<f64>; 2],
    current: [f64; 2],
}

impl Pair {
    /// Records in [0, 1] and Laplace noise of scale 1 / epsilon on their sum.
    fn of(records: [&[f64]; 2], d: usize, proposal: f64, released: f64, epsilon: f64) -> Self {
        let density = |sum: f64| (-epsilon * (released - sum).abs()).exp();
        let sums = records.map(|x| x.iter().sum::<f64>());
        let weights =
            [0, 1].map(|c| records[c].iter().map(|x| density(sums[c] - x + proposal)).collect());
        Pair { d, weights, current: sums.map(density) }
    }

    fn acceptance(&self, chain: usize, i: usize) -> f64 {
        let total: f64 = self.weights[chain].iter().sum();
        f64::min(1.0, total / (total + self.current[chain] - self.weights[chain][i]))
    }

    /// The probabilities that the distance decreases and that it increases.
    fn contraction_and_expansion(&self) -> (f64, f64) {
        let n = self.weights[0].len();
        let share = |c: usize, i: usize| self.weights[c][i] / self.weights[c].iter().sum::<f64>();
        let common: Vec<f64> = (0..n).map(|i| share(0, i).min(share(1, i))).collect();
        let mut joint = vec![vec![0.0; n]; n];
        let (mut i, mut j) = (0, 0);
        let rest = |c: usize, i: usize| share(c, i) - common[i];
        let (mut left, mut right) = (rest(0, 0), rest(1, 0));
        while i < n && j < n {
            let step = left.min(right);
            joint[i][j] += step;
            (left, right) = (left - step, right - step);
            if left <= 0.0 {
                i += 1;
                left = if i < n { rest(0, i) } else { 0.0 };
            } else {
                j += 1;
                right = if j < n { rest(1, j) } else { 0.0 };
            }
        }
        (0..n).for_each(|i| joint[i][i] += common[i]);
        let (mut falls, mut grows) = (0.0, 0.0);
        for (i, row) in joint.iter().enumerate() {
            for (j, probability) in row.iter().enumerate() {
                let (a, b) = (self.acceptance(0, i), self.acceptance(1, j));
                let (apart_i, apart_j) = (i < self.d, j < self.d);
                if apart_i && apart_j {
                    falls += probability * a.min(b);
                }
                // The effect on the distance of an acceptance by one chain only, and by both.
                let only_first = if apart_i { 0.0 } else { (a - b).max(0.0) };
                let only_second = if apart_j { 0.0 } else { (b - a).max(0.0) };
                let both = if !apart_i && !apart_j && i != j { a.min(b) } else { 0.0 };
                grows += probability * (only_first + only_second + both);
            }
        }
        (falls, grows)
    }
}

fn random_pair(n: usize, d: usize, epsilon: f64, rng: &mut Rng) -> Pair {
    // Records at the ends of the range are the extreme ones.
    let record = |rng: &mut Rng| match rng.random_range(0..3) {
        0 => 0.0,
        1 => 1.0,
        _ => rng.random::<f64>(),
    };
    let x: Vec<f64> = (0..n).map(|_| record(rng)).collect();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(i, &v)| if i < d { record(rng) } else { v }).collect();
    let released = x.iter().sum::<f64>() + 3.0 * rng.random::<f64>() - 1.5;
    Pair::of([&x, &y], d, record(rng), released, epsilon)
}

#[test]
fn coupled_moves_keep_to_the_bounds() {
    let mut rng = stream(7, 0);
    let mut largest_share = 0.0_f64;
    for _ in 0..40_000 {
        let n = rng.random_range(2..=8);
        let d = rng.random_range(1..=n);
        let epsilon = 4.0 * rng.random::<f64>();
        let (falls, grows) = random_pair(n, d, epsilon, &mut rng).contraction_and_expansion();
        assert!(falls >= soma_contraction(n, d, epsilon) - 1e-12);
        assert!(grows <= soma_expansion(n, d, epsilon) + 1e-12);
        if (n, d) == (2, 1) {
            assert!(grows <= soma_expansion_of_two(epsilon) + 1e-12);
        }
        largest_share = largest_share.max(grows / soma_expansion(n, d, epsilon).max(1e-9));
    }
    assert!(largest_share > 0.5, "the bound is not even half reached: {largest_share}");
}

/// Half of the records at each end of the range, with a released value such that one chain replaces
/// those at 0 and the other those at 1.
#[test]
fn the_printed_bound_on_expansion_fails() {
    let (n, epsilon) = (20, 5f64.ln());
    let x: Vec<f64> = (0..n).map(|i| f64::from(i > n / 2)).collect();
    let mut y = x.clone();
    y[0] = 1.0;
    let released = x.iter().sum();
    let n = n as usize;
    let (_, grows) = Pair::of([&x, &y], 1, 0.0, released, epsilon).contraction_and_expansion();
    let (printed, right) = (soma_expansion_published(n, 1, epsilon), soma_expansion(n, 1, epsilon));
    assert!((grows - 0.62).abs() < 0.005 && (printed - 0.33).abs() < 0.005, "{grows} {printed}");
    assert!(grows > printed && grows <= right);
}

/// All vertices of the convex problem, by counts: their maximum is the closed form over j.
#[test]
fn expansion_is_the_largest_over_all_extreme_weights() {
    for (n, d) in
        [(2, 1), (3, 1), (3, 2), (4, 1), (5, 1), (5, 2), (6, 1), (6, 3), (6, 4), (7, 2), (7, 5)]
    {
        for epsilon in [0.01, 0.5, 1.0, 2.0, 5.0] {
            let largest = largest_over_vertices(n, d, f64::exp(epsilon));
            let bound = soma_expansion(n, d, epsilon);
            assert!((largest - bound).abs() < 1e-10, "{n} {d} {epsilon}: {largest} {bound}");
            let published = soma_expansion_published(n, d, epsilon);
            assert!(n - d >= d + 2 || (published - bound).abs() < 1e-12);
        }
    }
}

fn largest_over_vertices(n: usize, d: usize, e: f64) -> f64 {
    let c = n as f64 / (n as f64 + e - 1.0);
    let weights = |bits: usize| -> Vec<f64> {
        let raw: Vec<f64> = (0..n).map(|i| if bits >> i & 1 == 1 { e } else { 1.0 }).collect();
        let total: f64 = raw.iter().sum();
        raw.iter().map(|w| w / total).collect()
    };
    let vertices: Vec<Vec<f64>> = (0..1 << n).map(weights).collect();
    let value = |a: &[f64], b: &[f64]| {
        let common: f64 = a[d..].iter().zip(&b[d..]).map(|(a, b)| a.min(*b)).sum();
        b[d..].iter().sum::<f64>() - c * common
    };
    let pairs = vertices.iter().flat_map(|a| vertices.iter().map(move |b| value(a, b)));
    pairs.fold(0.0, f64::max)
}

/// Scales in the unit of the mean, and a statistic of which two coordinates change at once.
#[test]
fn epsilon_of_a_release() {
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::query::{Categories, Mean};
    use crate::release::{Aggregate, Query};
    use std::sync::Arc;
    let of = |query: Arc<dyn Query>, noise, scales, aggregate| {
        let values = vec![0.0; query.dim()];
        let mechanism = Mechanism::new(noise, scales).unwrap();
        epsilon(&Release::new(query, mechanism, aggregate, 10, values).unwrap())
    };
    let mean = || Arc::new(Mean::new(vec![(0.0, 2.0), (0.0, 1.0)]).unwrap());
    let counts = Arc::new(Categories::new(4).unwrap());
    let scales = vec![0.5, 0.1];
    assert_eq!(of(mean(), Noise::Laplace, scales.clone(), Aggregate::Sum), Some(14.0));
    assert_eq!(of(mean(), Noise::Gaussian, scales, Aggregate::Sum), None);
    let found = of(mean(), Noise::Laplace, vec![0.1, 0.1], Aggregate::Mean).unwrap();
    assert!((found - 3.0).abs() < 1e-12);
    assert_eq!(of(counts, Noise::DiscreteLaplace, vec![0.5; 4], Aggregate::Sum), Some(4.0));
}

#[test]
fn lower_bound_on_total_variation() {
    assert_eq!(tv_lower_bound(1.0, 3, 0.0), 0.0);
    assert!((tv_lower_bound(0.25, 2, 0.0) - 0.5625).abs() < 1e-15);
    assert!((tv_lower_bound(0.25, 2, 0.1) - 0.4625).abs() < 1e-15);
    assert_eq!(tv_lower_bound(0.25, 100, 0.1), 0.0);
}
