//! What any number of moves would leave of theta.

use serde::{Deserialize, Serialize};

use super::{FAR, Pilot};

/// What the effective number of draws with one Hamiltonian update is worth, since a short run does
/// not see a small part that is slower than itself.
const SHORT_RUN: f64 = 0.7;

/// What a sweep leaves of the part of theta that goes with the standardised noise: where it was not
/// seen, and at least, since a short run cannot tell that it leaves less.
const UNSEEN: f64 = 0.9;
const LEAST_LEFT: f64 = 0.3;

/// Where several Hamiltonian updates give so many times the draws of one, one is no fresh draw within
/// standardised noise.
const GAIN: f64 = 1.3;

/// What a ridge leaves at least of what varies within standardised noise.
const LEAST_LEFT_BY_RIDGE: f64 = 0.1;

/// The two parts of theta, and what is left of them by each move.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct Parts {
    /// The share of the variance within standardised noise.
    within: f64,
    by_hamiltonian: f64,
    /// All of it, where no ridge is made.
    by_ridge: f64,
    by_independence: f64,
    /// Of what goes with the standardised noise.
    by_sweep: f64,
}

impl Parts {
    /// For these slots, with the ridge where it pays.
    pub(in crate::chain) fn new(
        pilot: &Pilot,
        hamiltonian: usize,
        refresh: usize,
        ridge: Option<usize>,
    ) -> Parts {
        let (merit, rate) = (pilot.merit(&[hamiltonian]), pilot.slots[hamiltonian].rate());
        let by_ridge = ridge.map_or(0.0, |ridge| pilot.merit(&[ridge]));
        let within = (merit / rate.max(merit).max(1e-9)).max(by_ridge).min(0.95);
        let by_hamiltonian = 1.0 - rate.clamp(0.01, 0.95);
        let by_ridge = (1.0 - by_ridge / within.max(1e-9)).max(LEAST_LEFT_BY_RIDGE);
        // One plus twice the sum of all correlations is one over the effective draws, and the sum
        // of the powers of g is g / (1 - g).
        let counted = pilot.hamiltonian_draws();
        let by_independence = 1.0 - pilot.merit(&[refresh]) * pilot.trust(refresh);
        if let [Some(one), Some(far)] = counted
            && far > GAIN * one
        {
            // More updates give more: it is they that are slow, and not the sweeps.
            let left = |draws: f64| (1.0 - SHORT_RUN * draws) / (1.0 + SHORT_RUN * draws);
            let by_hamiltonian = (left(one) * left(far).powf(1.0 / FAR as f64)).sqrt();
            let (within, by_sweep) = (0.95, LEAST_LEFT);
            return Parts { within, by_hamiltonian, by_ridge: 1.0, by_independence, by_sweep };
        }
        let by_sweep = counted[0].map_or(UNSEEN, |draws| {
            let all = 0.5 * (1.0 / (SHORT_RUN * draws) - 1.0);
            let left = by_hamiltonian * by_ridge;
            let of_noise = (all - within * left / (1.0 - left)) / (1.0 - within);
            let of_noise = of_noise.max(0.0);
            (of_noise / (1.0 + of_noise)).max(LEAST_LEFT)
        });
        Parts { within, by_hamiltonian, by_ridge, by_independence, by_sweep }
    }

    /// The effective draws of an iteration with so many Hamiltonian updates and independence
    /// updates, a ridge where it pays, and a sweep in one of `every`, which does what `pace` of the
    /// pilot's sweeps did.
    pub(in crate::chain) fn draws(
        &self,
        hamiltonians: u64,
        independences: u64,
        every: u64,
        pace: f64,
    ) -> f64 {
        let refreshed = self.by_independence.powi(independences as i32);
        let within = self.by_ridge * self.by_hamiltonian.powi(hamiltonians as i32) * refreshed;
        let standardised = self.by_sweep.powf(pace / every as f64) * refreshed;
        let sum = |left: f64| left / (1.0 - left).max(1e-9);
        1.0 / (1.0 + 2.0 * (self.within * sum(within) + (1.0 - self.within) * sum(standardised)))
    }
}

/// What the moves that were taken will do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct Outlook {
    pub(in crate::chain) parts: Parts,
    pub(in crate::chain) hamiltonians: u64,
    pub(in crate::chain) independences: u64,
    pub(in crate::chain) every: u64,
}

impl Outlook {
    /// The effective draws of an iteration, if a sweep does what `pace` of the pilot's sweeps did.
    pub(in crate::chain) fn draws(&self, pace: f64) -> f64 {
        self.parts.draws(self.hamiltonians, self.independences, self.every, pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four fifths of the variance within standardised noise, of which a Hamiltonian update leaves
    /// a fifth; and of what goes with the standardised noise a sweep leaves 0.81.
    #[test]
    fn sweeps_carry_what_goes_with_the_pattern() {
        let by_sweep = 0.81;
        let parts = Parts {
            within: 0.8,
            by_hamiltonian: 0.2,
            by_ridge: 1.0,
            by_independence: 0.5,
            by_sweep,
        };
        let outlook = |independences: u64, every: u64| Outlook {
            parts: parts.clone(),
            hamiltonians: 1,
            independences,
            every,
        };
        // The sums of the powers of 0.2 and 0.81, or 0.9, or 0.81^2.
        for (pace, standardised) in [(1.0, 0.81 / 0.19), (0.5, 9.0), (2.0, 0.6561 / 0.3439)] {
            let right = 1.0 / (1.0 + 2.0 * (0.8 * 0.25 + 0.2 * standardised));
            assert!((outlook(0, 1).draws(pace) - right).abs() < 1e-12, "{pace}");
            assert!((outlook(0, 2).draws(2.0 * pace) - right).abs() < 1e-12, "{pace}");
        }
        // What an independence update renews no sweep need renew: a better one gains less.
        let gain = |independences| {
            outlook(independences, 1).draws(2.0) / outlook(independences, 1).draws(1.0)
        };
        assert!(gain(0) > 1.4 && gain(1) < 1.1, "{} and {}", gain(0), gain(1));
    }
}
