//! The logarithms of shares.

use soma_language::program::Program;

use super::{CoordinateMap, Moments, Query, Sensitivity, box_sensitivity, compiled};
use crate::error::{Invalid, Outcome, interval, positive};
use crate::numeric::log::log_clamped;

/// The logarithm of each share of a composition, clamped to \[low, high\] first: the sufficient
/// statistics of a Dirichlet model.
///
/// # Sensitivity
///
/// D log(high / low) in the sum of absolute values and sqrt(D) log(high / low) in the Euclidean
/// norm: each logarithm is in \[log low, log high\]. It is the paper's, -D log(low), at high = 1,
/// and holds for any D numbers. Shares that sum to one cannot all move from one end to the other,
/// so that their sensitivity is somewhat smaller: at D = 3 and low = 0.0007 by 6%.
/// That is the sensitivity of [`of_compositions`](LogSum::of_compositions); the book's page on
/// sensitivities has the proof.
#[derive(Debug, Clone)]
pub struct LogSum {
    dim: usize,
    low: f64,
    high: f64,
    /// Whether the shares of every record sum to one, whoever's record it is.
    compositions: bool,
}

impl LogSum {
    /// A query on compositions of `dim` shares, each clamped to the same positive range.
    pub fn new(dim: usize, clamp: (f64, f64)) -> Result<Self, Invalid> {
        if dim < 1 {
            return Err(Invalid::new("dim", "must be positive", dim, "a whole number from 1 up"));
        }
        let (low, high) = interval("clamp", clamp)?;
        positive("clamp[0]", low)?;
        Ok(LogSum { dim, low, high, compositions: false })
    }

    /// The same query on records of which it is sure that their shares sum to one: the curator has
    /// divided each by its sum. The sensitivity is smaller then.
    pub fn of_compositions(self) -> Result<Self, Invalid> {
        if self.dim < 2 || self.low * self.dim as f64 >= 1.0 {
            return Err(Invalid::new(
                "compositions",
                "such shares cannot sum to one",
                format!("{} shares of at least {}", self.dim, self.low),
                "two shares or more, and a lower clamp below one over their number",
            ));
        }
        Ok(LogSum { compositions: true, ..self })
    }

    /// log(share / low) of each of `m` shares that have all of a composition between them.
    fn gap(&self, m: usize) -> f64 {
        (self.high.min(1.0 / m as f64) / self.low).ln().max(0.0)
    }

    /// The largest sum over the ways of sharing D coordinates out between those in which one
    /// composition is larger and those in which the other is: `part(m)` for m coordinates.
    fn largest(&self, part: impl Fn(usize) -> f64) -> f64 {
        (0..=self.dim / 2).map(|a| part(a) + part(self.dim - a)).fold(0.0, f64::max)
    }
}

impl Query for LogSum {
    fn kind(&self) -> &'static str {
        "log-sum"
    }

    fn coordinate_map(&self) -> Option<CoordinateMap> {
        Some(CoordinateMap::Log)
    }

    fn record_dim(&self) -> usize {
        self.dim
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let (low, high) = (self.low, self.high);
        if low >= f64::MIN_POSITIVE {
            log_clamped(records, (low, high), out);
        } else {
            out.iter_mut().zip(records).for_each(|(t, x)| *t = x.clamp(low, high).ln());
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(self.low.ln(), self.high.ln()); self.dim]
    }

    fn sensitivity(&self) -> Sensitivity {
        if !self.compositions {
            return box_sensitivity(&self.bounds());
        }
        // The shares that are larger are never all of them: the others are larger elsewhere.
        let all = self.dim;
        let most = |m: usize, part: &dyn Fn(usize) -> f64| {
            (0..=m.min(all - 1)).map(part).fold(0.0, f64::max)
        };
        let l1 = |m: usize| most(m, &|k| k as f64 * self.gap(k.max(1)));
        // A share below e low, of which there is at most one, adds at most 1.
        let square = |m: usize| {
            let full = |k: usize| k as f64 * self.gap(k.max(1)).powi(2);
            let fewer = if m > 1 { most(m - 1, &full) + 1.0 } else { 0.0 };
            most(m, &full).max(fewer)
        };
        Sensitivity { l1: self.largest(l1), l2: self.largest(square).sqrt() }
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        let (low, others) = (self.low, self.dim as f64 - 1.0);
        if !self.compositions {
            let most = self.low.ln().abs().max(self.high.ln().abs());
            let d = self.dim as f64;
            return Sensitivity { l1: d * most, l2: d.sqrt() * most };
        }
        // The sizes are convex functions of the shares: the largest sum is at a corner, all shares
        // but one at the lower clamp.
        let (small, large) = (low.ln().abs(), self.high.min(1.0 - others * low).ln().abs());
        Sensitivity {
            l1: others * small + large,
            l2: (others * small * small + large * large).sqrt(),
        }
    }

    fn labels(&self) -> Vec<String> {
        (1..=self.dim).map(|k| format!("log x{k}")).collect()
    }

    fn programs(&self) -> Option<Vec<Program>> {
        let text = |j: usize| format!("log(clamp(x{j}, {:?}, {:?}))", self.low, self.high);
        compiled(self.dim, &(1..=self.dim).map(text).collect::<Vec<_>>())
    }

    /// The geometric means, used as means.
    fn moments(&self, means: &[f64]) -> Option<Moments> {
        Some(Moments { mean: means.iter().map(|mean| mean.exp()).collect(), covariance: None })
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_program;
    use super::*;
    use crate::rng::stream;
    use rand::RngExt;

    #[test]
    fn statistics_are_logarithms_of_clamped_shares() {
        let query = LogSum::new(3, (0.01, 0.5)).unwrap();
        let mut out = [0.0; 3];
        query.statistics(&[0.0, 0.1, 0.9], &mut out).unwrap();
        let near = |t: f64, x: f64| (t / x.ln() - 1.0).abs() < 1e-15;
        assert!(near(out[0], 0.01) && near(out[1], 0.1) && near(out[2], 0.5), "{out:?}");
    }

    #[test]
    fn sensitivity_is_the_papers_and_is_not_passed() {
        let query = LogSum::new(3, (0.0006944, 1.0)).unwrap();
        let Sensitivity { l1, l2 } = query.sensitivity();
        assert!((l1 + 3.0 * 0.0006944f64.ln()).abs() < 1e-12);
        let mut rng = stream(1, 0);
        let (mut worst1, mut worst2): (f64, f64) = (0.0, 0.0);
        for _ in 0..20_000 {
            let records: Vec<f64> = (0..6).map(|_| rng.random::<f64>().powi(20)).collect();
            let mut out = [0.0; 6];
            query.statistics(&records, &mut out).unwrap();
            let gaps = (0..3).map(|k| (out[k] - out[3 + k]).abs());
            worst1 = worst1.max(gaps.clone().sum());
            worst2 = worst2.max(gaps.map(|gap| gap * gap).sum::<f64>().sqrt());
        }
        assert!(worst1 <= l1 && worst1 > 0.95 * l1, "{worst1} of {l1}");
        assert!(worst2 <= l2 && worst2 > 0.95 * l2, "{worst2} of {l2}");
    }

    #[test]
    fn the_program_gives_the_statistics() {
        let records = [0.0, 0.1, 0.9, 0.3, 0.3, 0.4];
        assert_program(&LogSum::new(3, (0.01, 0.5)).unwrap(), &records);
    }

    #[test]
    fn ranges_are_checked() {
        assert!(LogSum::new(0, (0.1, 1.0)).is_err());
        assert!(LogSum::new(3, (1.0, 0.1)).is_err());
        assert_eq!(LogSum::new(3, (0.0, 1.0)).unwrap_err().field, "clamp[0]");
    }
}
