//! The paper's bounds as functions of the number of records and of epsilon.
//!
//! They hold for noise that is epsilon-DP with respect to the replacement of one record: then
//! any two of the weights w_0, w_1, ..., w_n of a move lie within a factor e^epsilon of each
//! other. [`epsilon`] tells the epsilon of a release. All are computed from e^-epsilon, so that a
//! large epsilon does not overflow, and convergence rates are kept as their distance from 1, which
//! would be lost in rounding.
//!
//! Four things differ from the paper's text:
//! - the bound on expansion printed in the Lemma does not hold for all n and d:
//!   [`soma_expansion`] is a right one, [`soma_expansion_published`] the printed one;
//! - both Lemmas on the coupled kernel take it that the residual indices are laid out with the
//!   places where the chains differ first; in another order the two chains may draw one index
//!   where they differ and one where they agree although they need not, and the Lemmas fail;
//! - the Lemma on contraction prints M for e^epsilon;
//! - the lower bound on the total variation distance holds as printed where pi has no atom; see
//!   [`tv_lower_bound`].

use crate::release::Release;
use crate::release::mechanism::Shape;

/// The epsilon of a release, with respect to the replacement of one record, if its noise has one:
/// the largest change of the log density of the noise. `None` for noise of Gauss's kind.
pub fn epsilon(release: &Release) -> Option<f64> {
    if release.mechanism().noise().shape() != Shape::Absolute {
        return None;
    }
    let scales = release.sum_scales();
    let bounds = release.query().bounds();
    let by_coordinate: f64 =
        bounds.iter().zip(&scales).map(|((low, high), scale)| (high - low) / scale).sum();
    let smallest = scales.iter().copied().fold(f64::INFINITY, f64::min);
    Some(by_coordinate.min(release.query().sensitivity().l1 / smallest))
}

/// A lower bound on the probability that SOMA takes an offer, from any state:
/// n / (n + e^epsilon - 1).
pub fn soma_acceptance(n: usize, epsilon: f64) -> f64 {
    let (n, q) = (n as f64, (-epsilon).exp());
    n * q / (n * q + (1.0 - q))
}

/// A lower bound on the probability that Ran-IMwG, or Sys-IMwG at any place, takes an offer from
/// any state: e^-epsilon.
pub fn imwg_acceptance(epsilon: f64) -> f64 {
    (-epsilon).exp()
}

/// A geometric convergence rate r, kept as the gap 1 - r.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate {
    /// 1 - r.
    pub gap: f64,
}

impl Rate {
    /// r.
    pub fn value(self) -> f64 {
        1.0 - self.gap
    }

    /// The number of moves after which r^t is `level`.
    pub fn moves(self, level: f64) -> f64 {
        level.ln() / (-self.gap).ln_1p()
    }

    /// The rate whose gap is that of the larger root of x^2 - trace x + determinant: from
    /// (1 - root)(1 - other) = 1 - trace + determinant, given as `at_one`.
    fn of_larger_root(at_one: f64, trace: f64, discriminant: f64) -> Self {
        let other = 0.5 * (trace - discriminant.sqrt());
        Rate { gap: at_one / (1.0 - other) }
    }
}

/// The paper's bound on the convergence rate of SOMA for n = 2, per move: the second eigenvalue
/// of the matrix that dominates the distance of two coupled chains. For large epsilon its gap is
/// about 4 e^(-3 epsilon).
pub fn soma_rate(epsilon: f64) -> Rate {
    let q = (-epsilon).exp();
    let scale = 1.0 / ((1.0 + q) * (1.0 + q));
    let trace = (1.0 + 3.0 * q - 2.0 * q * q) * scale;
    let discriminant = (1.0 + 2.0 * q + 9.0 * q * q - 8.0 * q * q * q) * scale * scale;
    Rate::of_larger_root(4.0 * (q / (1.0 + q)).powi(3), trace, discriminant)
}

/// The paper's bound on the convergence rate of Ran-IMwG for n = 2, per move. For large epsilon
/// its gap is about e^(-2 epsilon).
pub fn ran_rate(epsilon: f64) -> Rate {
    let q = (-epsilon).exp();
    Rate::of_larger_root(0.5 * q * q, 1.5 - q, 0.25 + q - q * q)
}

/// The paper's bound on the convergence rate of Sys-IMwG for n = 2, per move: two moves bring any
/// two chains together with probability e^(-2 epsilon) or more.
pub fn sys_rate(epsilon: f64) -> Rate {
    let q = (-epsilon).exp();
    Rate { gap: q * q / (1.0 + (1.0 - q * q).sqrt()) }
}

/// A lower bound on the probability that one coupled SOMA move brings chains that differ in `d` of
/// `n` records to differ in d - 1.
pub fn soma_contraction(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 {
        return 0.0;
    }
    let apart = d as f64 * (-epsilon).exp();
    let share = if d == n { 1.0 } else { apart / (apart + (n - d) as f64) };
    soma_acceptance(n, epsilon) * share
}

/// A lower bound on the same for Ran-IMwG.
pub fn ran_contraction(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    imwg_acceptance(epsilon) * d as f64 / n as f64
}

/// An upper bound on the probability that one coupled SOMA move brings chains that differ in `d`
/// of `n` records to differ in d + 1.
///
/// The paper's proof arrives at B - c U, where B is the larger of the two chains' probabilities of
/// choosing a place where they agree, U the probability that both choose the same such place, and
/// c the bound on acceptance. It then takes the largest B and what it holds to be the smallest U.
/// But U is a sum of minima, and is smaller where one chain's weights are low at some of the
/// places and the other's at the rest. B - c U is convex in each chain's normalised weights, hence
/// largest where each weight is 1 or e^epsilon; moving one weight at a time shows that it is
/// largest where the chain's weights are e^epsilon and the other's 1 at places where they differ,
/// and where they agree, one of them is 1 and the other e^epsilon, at j places this way around.
/// What is left is the largest value over j, which j = 0, the paper's, is not always. With
/// n = 20 and d = 1 at epsilon = log 5 there are states where the probability is 0.62, and the
/// printed bound is 0.33.
pub fn soma_expansion(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 || d == n {
        return 0.0;
    }
    (0..=n - d).map(|j| expansion_with(n, d, j, epsilon)).fold(0.0, f64::max)
}

/// The bound on expansion as the paper prints it: not safe where n - d is d + 2 or more.
pub fn soma_expansion_published(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 || d == n {
        return 0.0;
    }
    expansion_with(n, d, 0, epsilon)
}

/// B - c U for weights that are crosswise 1 and e^epsilon, the larger ones this chain's at `j` of
/// the places where the chains agree.
fn expansion_with(n: usize, d: usize, j: usize, epsilon: f64) -> f64 {
    let q = (-epsilon).exp();
    let c = soma_acceptance(n, epsilon);
    let (d, rest, j) = (d as f64, (n - d - j) as f64, j as f64);
    let (this, other) = (d + rest * q + j, d * q + rest + j * q);
    (rest + j * q) / other - c * (rest * q / this + j * q / other)
}

/// The bound on expansion for n = 2 and d = 1, which is sharper than [`soma_expansion`]:
/// e^epsilon (e^epsilon - 1) / (e^epsilon + 1)^2.
pub fn soma_expansion_of_two(epsilon: f64) -> f64 {
    let q = (-epsilon).exp();
    -(-epsilon).exp_m1() / ((1.0 + q) * (1.0 + q))
}

/// An upper bound on the same for Ran-IMwG: a place where the chains agree is chosen, and one
/// takes the offer.
pub fn ran_expansion(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 {
        return 0.0;
    }
    -(-epsilon).exp_m1() * (n - d) as f64 / n as f64
}

/// An upper bound on the asymptotic variance of a mean over Ran-IMwG moves, from that over SOMA
/// moves and the variance under pi: n v_SOMA + (n - 1) v_pi.
///
/// So n moves of Ran-IMwG are worth a move of SOMA up to one variance: divided by the number of
/// moves, v_RAN / (n T) <= v_SOMA / T + (1 - 1/n) v_pi / T. It does not say that they are worth
/// more.
pub fn ran_variance(n: usize, soma_variance: f64, variance: f64) -> f64 {
    n as f64 * soma_variance + (n as f64 - 1.0) * variance
}

/// A lower bound on the total variation distance from pi after `t` moves from a state where an
/// offer is taken with probability `acceptance`: the chain has not moved with probability
/// (1 - acceptance)^t, and `mass` is the probability of the state under pi, which is 0 for
/// continuous records, and which the paper takes for 0.
pub fn tv_lower_bound(acceptance: f64, t: u64, mass: f64) -> f64 {
    let stayed = (t as f64 * (-acceptance).ln_1p()).exp();
    (stayed - mass).max(0.0)
}

#[cfg(test)]
mod tests {
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

    /// Two states with `d` different records and a common offer: the probabilities of one SOMA
    /// move of the coupling, over its index and acceptance uniforms.
    struct Pair {
        d: usize,
        weights: [Vec<f64>; 2],
        current: [f64; 2],
    }

    impl Pair {
        /// Records in [0, 1] and Laplace noise of scale 1 / epsilon on their sum.
        fn of(records: [&[f64]; 2], d: usize, offer: f64, released: f64, epsilon: f64) -> Self {
            let density = |sum: f64| (-epsilon * (released - sum).abs()).exp();
            let sums = records.map(|x| x.iter().sum::<f64>());
            let weights =
                [0, 1].map(|c| records[c].iter().map(|x| density(sums[c] - x + offer)).collect());
            Pair { d, weights, current: sums.map(density) }
        }

        fn acceptance(&self, chain: usize, i: usize) -> f64 {
            let total: f64 = self.weights[chain].iter().sum();
            f64::min(1.0, total / (total + self.current[chain] - self.weights[chain][i]))
        }

        /// The probabilities that the distance falls and that it grows.
        fn contraction_and_expansion(&self) -> (f64, f64) {
            let n = self.weights[0].len();
            let share =
                |c: usize, i: usize| self.weights[c][i] / self.weights[c].iter().sum::<f64>();
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
                    // What each chain's acceptance alone and both together do to the distance.
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

    /// Half of the records at each end of the range, the released value such that one chain would
    /// replace those at 0 and the other those at 1.
    #[test]
    fn the_printed_bound_on_expansion_fails() {
        let (n, epsilon) = (20, 5f64.ln());
        let x: Vec<f64> = (0..n).map(|i| f64::from(i > n / 2)).collect();
        let mut y = x.clone();
        y[0] = 1.0;
        let released = x.iter().sum();
        let n = n as usize;
        let (_, grows) = Pair::of([&x, &y], 1, 0.0, released, epsilon).contraction_and_expansion();
        let (printed, right) =
            (soma_expansion_published(n, 1, epsilon), soma_expansion(n, 1, epsilon));
        assert!(
            (grows - 0.62).abs() < 0.005 && (printed - 0.33).abs() < 0.005,
            "{grows} {printed}"
        );
        assert!(grows > printed && grows <= right);
    }

    /// All vertices of the convex problem, by counts: the closed form over j is their maximum.
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
}
