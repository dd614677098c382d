//! The privacy budget that the scales of a part imply.

use super::budget::{Budget, solve};
use super::law::Publishing;
use super::mechanism::Neighbours;
use super::potential::Norm;
use super::query::{Query, Sensitivity, box_sensitivity};
use super::{Aggregate, Mechanism, Part, PartLaw};
use crate::error::{Invalid, counted};

impl Part {
    /// The budget that the scales imply, at most, where one record changes: `None` where no bound is
    /// known. `n` is the number of records, where it is public.
    pub(crate) fn implied(&self, neighbours: Neighbours, n: Option<i64>) -> Option<Budget> {
        let query = self.query().as_ref();
        match self.law() {
            PartLaw::Joint(law) => law.implied(query, neighbours, n),
            PartLaw::Independent(mechanism) => {
                let unit = match (self.aggregate(), neighbours, n) {
                    (Aggregate::Sum, ..) => 1.0,
                    (Aggregate::Mean, Neighbours::Replace, Some(n)) => n as f64,
                    (Aggregate::Mean, ..) => return None,
                };
                mechanism.implied(|per_scale| {
                    let weights: Vec<f64> = per_scale.iter().map(|weight| weight / unit).collect();
                    weighted(query, neighbours, &weights)
                })
            }
        }
    }
}

impl Mechanism {
    /// The budget that the scales imply for answers that one record moves by `moved`, which gets the
    /// factor that each coordinate is multiplied by: one over its scale.
    pub(super) fn implied(&self, moved: impl Fn(&[f64]) -> Sensitivity) -> Option<Budget> {
        let weights: Vec<f64> = self.scales().iter().map(|scale| 1.0 / scale).collect();
        let moved = moved(&weights);
        let publishing = self.publishing();
        // Answers are put on the lattice first: they may move by one more step each.
        let step = publishing.granularity.unwrap_or(0.0);
        let budget = match self.noise().law().sensitivity_norm()? {
            Norm::L1 => {
                let steps: f64 = weights.iter().map(|weight| weight * step).sum();
                Budget::Epsilon(moved.l1 + steps + self.beyond_bounds(moved.l1)?)
            }
            Norm::L2 if publishing.within.is_some() => return None,
            Norm::L2 => {
                let squares: f64 = weights.iter().map(|weight| (weight * step).powi(2)).sum();
                Budget::Rho(0.5 * (moved.l2 + squares.sqrt()).powi(2))
            }
        };
        let (Budget::Epsilon(amount) | Budget::Rho(amount)) = budget else { return None };
        (amount.is_finite() && amount > 0.0).then_some(budget)
    }

    /// The scale for a budget where the noise is on a bounded domain, of noise that has the scale for this
    /// budget without bounds: the smallest that keeps the log density from changing by more than epsilon
    /// (Holohan, Antonatos, Braghin and Mac Aonghusa 2018). Without bounds nothing changes.
    pub(crate) fn on_bounded_domain(self, budget: Budget) -> Result<Self, Invalid> {
        let Some((low, high)) = self.publishing().within else { return Ok(self) };
        let (Budget::Epsilon(epsilon), [unbounded]) = (budget, self.scales()) else {
            return Err(Invalid::new(
                "within",
                "on a bounded domain, only epsilon and for one value determines the scale",
                format!(
                    "[{low}, {high}] with {budget} for {}",
                    counted(self.scales().len(), "value")
                ),
                "scale = ..., as it was used",
            ));
        };
        let moved = unbounded * epsilon;
        let left = |scale: f64| {
            let gain = Publishing::gain_within(self.noise(), scale, moved, (low, high));
            epsilon - moved / scale - gain
        };
        let scale = solve(*unbounded, 2.0 * unbounded, left);
        let bounded =
            Mechanism::new(self.noise(), vec![scale])?.published_by(*self.publishing())?;
        Ok(bounded.following(self.source()))
    }

    /// What a bounded domain adds to epsilon, for one answer that moves by `moved` scales: the log of
    /// how much likelier noise stays within the bounds.
    fn beyond_bounds(&self, moved: f64) -> Option<f64> {
        match (self.publishing().within, self.scales()) {
            (None, _) => Some(0.0),
            (Some(range), [scale]) => {
                let noise = self.noise();
                Some(Publishing::gain_within(noise, *scale, moved * scale, range))
            }
            (Some(_), _) => None,
        }
    }
}

/// How far one record can move the sums of the statistics, each multiplied by its weight.
pub(super) fn weighted(query: &dyn Query, neighbours: Neighbours, weights: &[f64]) -> Sensitivity {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let own = neighbours.sensitivity(query).times(largest);
    if weights.iter().all(|weight| *weight == largest) {
        return own;
    }
    let bounds = query.bounds();
    let is_one_bin = query.counts_records() && query.is_integer() && {
        bounds.iter().all(|bounds| *bounds == (0.0, 1.0))
    };
    let each = if is_one_bin {
        let mut sorted = weights.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        // A replaced record leaves one bin and enters another.
        let bins = if neighbours == Neighbours::Replace { 2 } else { 1 };
        box_sensitivity(&sorted.iter().take(bins).map(|w| (0.0, *w)).collect::<Vec<_>>())
    } else {
        let width = |((low, high), weight): (&(f64, f64), &f64)| match neighbours {
            Neighbours::Replace => (0.0, (high - low) * weight),
            Neighbours::AddRemove => (0.0, low.abs().max(high.abs()) * weight),
        };
        box_sensitivity(&bounds.iter().zip(weights).map(width).collect::<Vec<_>>())
    };
    Sensitivity { l1: each.l1.min(own.l1), l2: each.l2.min(own.l2) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::release::law::Noise;
    use crate::release::query::{Categories, Mean};
    use crate::rng::stream;
    use rand::RngExt;

    /// The budget is what the densities show: the largest change of the log density over pairs of
    /// neighbouring records and over published values.
    #[test]
    fn epsilon_bounds_the_change_of_the_log_density_and_is_attained() {
        let (low, high, n) = (0.0, 2.0, 4);
        let mean = || Arc::new(Mean::new(vec![(low, high)]).unwrap());
        for (within, scale) in [(None, 0.7), (Some((0.0, 2.0)), 0.7), (Some((0.0, 2.0)), 0.2)] {
            let publishing = Publishing { within, ..Publishing::default() };
            let mechanism = Mechanism::new(Noise::Laplace, vec![scale]).unwrap();
            let mechanism = mechanism.published_by(publishing).unwrap();
            let part = Part::new(mean(), mechanism.clone(), Aggregate::Mean, vec![1.0]).unwrap();
            let implied = part.implied(Neighbours::Replace, Some(n));
            let Some(Budget::Epsilon(epsilon)) = implied else { panic!("{implied:?}") };
            let change = (high - low) / n as f64;
            let mut most = 0.0_f64;
            for i in 0..=60 {
                let truth = (high - change) * f64::from(i) / 60.0;
                for j in 0..=60 {
                    let published = high * f64::from(j) / 60.0;
                    let of = |truth: f64| mechanism.log_density(&[published], &[truth]);
                    most = most.max((of(truth) - of(truth + change)).abs());
                }
            }
            assert!((epsilon - most).abs() < 1e-9, "{within:?} {scale}: {epsilon}, found {most}");
        }
    }

    /// With a scale for each value: no pair of records moves the weighted sums farther.
    #[test]
    fn scales_of_their_own_are_summed_over() {
        let weights = [0.5, 2.0, 1.0];
        let bins = Categories::new(3).unwrap();
        let replaced = weighted(&bins, Neighbours::Replace, &weights);
        assert_eq!((replaced.l1, replaced.l2), (3.0, 5.0_f64.sqrt()));
        let added = weighted(&bins, Neighbours::AddRemove, &weights);
        assert_eq!((added.l1, added.l2), (2.0, 2.0));

        let query = Mean::new(vec![(0.0, 1.0), (-1.0, 3.0), (2.0, 5.0)]).unwrap();
        let bound = weighted(&query, Neighbours::Replace, &weights);
        let (mut rng, mut most) = (stream(1, 0), 0.0_f64);
        for _ in 0..2000 {
            let mut end = |(low, high)| if rng.random_bool(0.5) { low } else { high };
            let mut record = || query.bounds().into_iter().map(&mut end).collect::<Vec<f64>>();
            let (one, other) = (record(), record());
            let moves = one.iter().zip(&other).zip(&weights);
            most = most.max(moves.map(|((a, b), w)| (a - b).abs() * w).sum());
        }
        assert!((bound.l1 - most).abs() < 1e-12, "{bound:?}, found {most}");
    }
}
