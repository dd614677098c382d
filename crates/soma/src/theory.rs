//! The paper's bounds as functions of the number of records and of epsilon.
//!
//! They hold for noise that is epsilon-DP with respect to the replacement of one record: then any
//! two of the weights w_0, w_1, ..., w_n of a move are within a factor e^epsilon of each other.
//! [`epsilon`] computes the epsilon of a release. All bounds are computed from e^-epsilon, so that
//! a large epsilon does not overflow, and convergence rates are represented by their distance from
//! 1, which rounding would lose.
//!
//! Four things differ from the paper's text:
//! - the bound on expansion printed in the Lemma does not hold for all n and d: [`soma_expansion`]
//!   is a correct one, [`soma_expansion_published`] the printed one;
//! - both Lemmas on the coupled kernel assume that the residual indices are ordered with the places
//!   where the chains differ first; in another order the two chains may draw one index where they
//!   differ and one where they agree although they need not, and the Lemmas fail;
//! - the Lemma on contraction prints M for e^epsilon;
//! - the lower bound on the total variation distance holds as printed if pi has no atom; see
//!   [`tv_lower_bound`].

#[cfg(test)]
mod tests;

use crate::release::potential::Norm;
use crate::release::{Part, Release};

/// The epsilon of a release, with respect to the replacement of one record: the largest change of
/// the log density of the noise. `None` for Gaussian noise.
pub fn epsilon(release: &Release) -> Option<f64> {
    let is_l1 = |part: &Part| {
        part.mechanism()
            .is_some_and(|mechanism| mechanism.noise().law().sensitivity_norm() == Some(Norm::L1))
    };
    if !release.parts().iter().all(is_l1) {
        return None;
    }
    let scales = release.sum_scales();
    let bounds = release.query().bounds();
    let by_coordinate: f64 =
        bounds.iter().zip(&scales).map(|((low, high), scale)| (high - low) / scale).sum();
    let smallest = scales.iter().copied().fold(f64::INFINITY, f64::min);
    Some(by_coordinate.min(release.query().sensitivity().l1 / smallest))
}

/// A lower bound on SOMA's acceptance probability from any state: n / (n + e^epsilon - 1).
pub fn soma_acceptance(n: usize, epsilon: f64) -> f64 {
    let (n, q) = (n as f64, (-epsilon).exp());
    n * q / (n * q + (1.0 - q))
}

/// A lower bound on the acceptance probability of Ran-IMwG, and of Sys-IMwG at any place, from any
/// state: e^-epsilon.
pub fn imwg_acceptance(epsilon: f64) -> f64 {
    (-epsilon).exp()
}

/// A geometric convergence rate r, represented by the gap 1 - r.
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

/// The paper's bound on the convergence rate of Sys-IMwG for n = 2, per move: after two moves any
/// two chains meet with probability at least e^(-2 epsilon).
pub fn sys_rate(epsilon: f64) -> Rate {
    let q = (-epsilon).exp();
    Rate { gap: q * q / (1.0 + (1.0 - q * q).sqrt()) }
}

/// A lower bound on the probability that one coupled SOMA move reduces the distance of chains that
/// differ in `d` of `n` records to d - 1.
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

/// An upper bound on the probability that one coupled SOMA move increases the distance of chains
/// that differ in `d` of `n` records to d + 1.
///
/// The paper's proof arrives at B - c U, where B is the larger of the two chains' probabilities of
/// selecting a place where they agree, U the probability that both select the same such place, and
/// c the bound on acceptance. It then takes the largest B and a value of U that it takes to be the
/// smallest. But U is a sum of minima, and is smaller if one chain's weights are low at some of the
/// places and the other's at the rest. B - c U is convex in each chain's normalised weights, hence
/// largest where each weight is 1 or e^epsilon. Moving one weight at a time shows that at the
/// maximum this chain's weights are e^epsilon and the other's 1 at places where they differ, and
/// where they agree, one of them is 1 and the other e^epsilon, with j places this way around. The
/// bound is the maximum over j, which is not always attained at j = 0, the paper's. With n = 20 and
/// d = 1 at epsilon = log 5 there are states where the probability is 0.62, and the printed bound
/// is 0.33.
pub fn soma_expansion(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 || d == n {
        return 0.0;
    }
    (0..=n - d).map(|j| expansion_with(n, d, j, epsilon)).fold(0.0, f64::max)
}

/// The bound on expansion as printed in the paper: not valid if n - d is d + 2 or more.
pub fn soma_expansion_published(n: usize, d: usize, epsilon: f64) -> f64 {
    let d = d.min(n);
    if d == 0 || d == n {
        return 0.0;
    }
    expansion_with(n, d, 0, epsilon)
}

/// B - c U for weights that are 1 in one chain and e^epsilon in the other; this chain has the
/// larger ones at `j` of the places where the chains agree.
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

/// An upper bound on the same for Ran-IMwG: a place where the chains agree is selected, and one
/// chain accepts.
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

/// A lower bound on the total variation distance from pi after `t` moves from a state with
/// acceptance probability `acceptance`: the chain has not moved with probability (1 -
/// acceptance)^t. `mass` is the probability of the state under pi: 0 for continuous records, and
/// assumed 0 in the paper.
pub fn tv_lower_bound(acceptance: f64, t: u64, mass: f64) -> f64 {
    let stayed = (t as f64 * (-acceptance).ln_1p()).exp();
    (stayed - mass).max(0.0)
}
