//! A noisy sum divided by a noisy count, of which only the ratio is published, as in the averages
//! of several libraries: middle + (sum of (t - middle) + A) / (n + B).

use super::Noise;
use crate::error::{Invalid, finite, listed, positive, rounded};
use crate::release::mechanism::{Budget, Mechanism, Neighbours};
use crate::release::part::JointLaw;
use crate::release::potential::Coordinate;
use crate::release::query::{Query, Sensitivity, box_sensitivity};
use crate::rng::Rng;

/// The distribution of ratios with one noisy count as their denominator: given the sums S_k of the
/// centred statistics and the number of records n,
///
/// > p(y) = sum over B of P(B given n) prod_k |B| f((y_k - middle_k) B - S_k),
///
/// with f the density of the noise of a sum. The statistics are those of a query, and then 1 for
/// every record.
#[derive(Debug, Clone)]
pub struct Ratio {
    numerator: (Noise, f64),
    denominator: (Noise, f64),
    middle: Vec<f64>,
    least: Option<f64>,
    /// The noise of the count with its probability, truncated at negligible values.
    counts: Vec<(f64, f64)>,
    /// Minus the log density of the noise of a sum, relative to its maximum.
    potential: Coordinate,
    top: f64,
}

/// Noise beyond this many scales is truncated in the sum over noisy counts.
const REACH: f64 = 30.0;

/// The largest noise scale of a count.
const MOST_SCALE: f64 = 10_000.0;

impl Ratio {
    /// Ratios of sums with continuous noise and a count with discrete noise, each with its scale.
    /// `middle` is subtracted from each statistic before summation and added to the ratio; a noisy
    /// count below `least` is raised to it.
    pub fn new(
        numerator: (Noise, f64),
        denominator: (Noise, f64),
        middle: Vec<f64>,
        least: Option<f64>,
    ) -> Result<Self, Invalid> {
        positive("numerator.scale", numerator.1)?;
        positive("denominator.scale", denominator.1)?;
        middle.iter().try_for_each(|&middle| finite("middle", middle).map(|_| ()))?;
        least.map(|least| positive("least", least)).transpose()?;
        if numerator.0.is_discrete() || !denominator.0.is_discrete() {
            return Err(Invalid::new(
                "numerator.kind",
                "the noise of the sum is continuous, and that of the count whole numbers",
                format!("{} and {}", numerator.0.name(), denominator.0.name()),
                format!(
                    "{} noise of the numerator; {} noise of the denominator",
                    Noise::any_continuous(),
                    Noise::any_discrete()
                ),
            ));
        }
        if denominator.1 > MOST_SCALE {
            return Err(Invalid::new(
                "denominator.scale",
                "the noise of the count is too wide to be summed over",
                denominator.1,
                format!("a scale up to {MOST_SCALE}"),
            ));
        }
        let reach = (REACH * denominator.1).ceil() as i64;
        let probability = |k: f64| denominator.0.log_density(denominator.1, k).exp();
        let counts = (-reach..=reach).map(|k| (k as f64, probability(k as f64))).collect();
        let potential = numerator.0.law().coordinate(numerator.1, 0.0);
        let top = numerator.0.log_density(numerator.1, 0.0);
        Ok(Ratio { numerator, denominator, middle, least, counts, potential, top })
    }

    fn denominator(&self, noisy: f64) -> f64 {
        self.least.map_or(noisy, |least| noisy.max(least))
    }

    /// The sums of the centred statistics, and the count.
    fn centred(&self, sums: &[f64]) -> (Vec<f64>, f64) {
        let (sums, n) = (&sums[..self.middle.len()], sums[self.middle.len()].round());
        (sums.iter().zip(&self.middle).map(|(sum, middle)| sum - n * middle).collect(), n)
    }
}

impl JointLaw for Ratio {
    fn name(&self) -> &'static str {
        "ratio"
    }

    fn published(&self) -> usize {
        self.middle.len()
    }

    fn check(&self, _: &dyn Query, _: &[f64]) -> Result<(), Invalid> {
        Ok(())
    }

    fn describe(&self) -> String {
        let ((above, scale), (below, count_scale)) = (self.numerator, self.denominator);
        let mut said = format!(
            "a sum with {} noise of scale {scale} over a count with {} noise of scale {count_scale}",
            above.name(),
            below.name()
        );
        if let Some(least) = self.least {
            said.push_str(&format!(", put up to {least}"));
        }
        if self.middle.iter().any(|middle| *middle != 0.0) {
            let middles: Vec<String> = self.middle.iter().copied().map(rounded).collect();
            said.push_str(&format!(", records less the middle {}", listed(&middles)));
        }
        said
    }

    fn log_density(&self, values: &[f64], sums: &[f64]) -> f64 {
        let (sums, n) = self.centred(sums);
        let per_scale = 1.0 / self.numerator.1;
        let mut total = 0.0;
        for (noise, probability) in &self.counts {
            let denominator = self.denominator(n + noise);
            let (mut cost, mut factor) = (0.0, *probability);
            for ((y, middle), sum) in values.iter().zip(&self.middle).zip(&sums) {
                cost += self.potential.cost(((y - middle) * denominator - sum) * per_scale);
                factor *= denominator.abs();
            }
            total += factor * (-cost).exp();
        }
        total.ln() + self.top * values.len() as f64
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let (sums, n) = self.centred(sums);
        let ((above, scale), (below, count_scale)) = (self.numerator, self.denominator);
        let denominator = self.denominator(n + below.sample(count_scale, rng));
        let ratio = |(sum, middle): (f64, &f64)| {
            // A ratio with a zero denominator is published as its middle.
            let ratio = (sum + above.sample(scale, rng)) / denominator;
            if ratio.is_finite() { middle + ratio } else { *middle }
        };
        sums.into_iter().zip(&self.middle).map(ratio).collect()
    }

    /// The noisy sum and the noisy count are both paid for; a replaced record leaves the count as it is.
    fn implied(&self, query: &dyn Query, neighbours: Neighbours, _: Option<i64>) -> Option<Budget> {
        let mechanism = |(noise, scale): (Noise, f64), count: usize| {
            Mechanism::new(noise, vec![scale; count]).ok()
        };
        let bounds = query.bounds();
        let (sums, _) = bounds.split_at(self.middle.len());
        let ends = sums.iter().zip(&self.middle).map(|((low, high), middle)| match neighbours {
            Neighbours::Replace => (*low, *high),
            Neighbours::AddRemove => (0.0, (low - middle).abs().max((high - middle).abs())),
        });
        let moved = box_sensitivity(&ends.collect::<Vec<_>>());
        let sums =
            mechanism(self.numerator, sums.len())?.implied(|weights| moved.times(weights[0]))?;
        if neighbours == Neighbours::Replace {
            return Some(sums);
        }
        let one = Sensitivity { l1: 1.0, l2: 1.0 };
        sums.and(mechanism(self.denominator, 1)?.implied(|weights| one.times(weights[0]))?)
    }

    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64> {
        values.iter().map(|value| value * n).chain([n]).collect()
    }

    fn scales(&self, _: &[f64], _: f64) -> Vec<f64> {
        vec![self.numerator.1; self.middle.len()].into_iter().chain([self.denominator.1]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral};
    use crate::rng::stream;

    fn ratio(least: Option<f64>, denominator: Noise) -> Result<Ratio, Invalid> {
        Ratio::new((Noise::Laplace, 1.0), (denominator, 1.5), vec![0.3], least)
    }

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let law = ratio(Some(1.0), Noise::DiscreteLaplace).unwrap();
        let density = |y: f64| law.log_density(&[y], &[9.0, 12.0]).exp();
        // The density has a kink for every noisy count, which limits the accuracy of Simpson's
        // rule.
        let below = |y: f64| integral(-20.0, y.max(-20.0), density);
        assert!((below(20.0) - 1.0).abs() < 1e-3, "{}", below(20.0));
        let mut rng = stream(3, 0);
        let mut draws: Vec<f64> =
            (0..2_000).map(|_| law.sample(&[9.0, 12.0], &mut rng)[0]).collect();
        assert_follows("ratios", &mut draws, below);
    }

    #[test]
    fn kinds_of_noise_are_checked() {
        assert!(ratio(None, Noise::DiscreteGaussian).is_ok());
        assert_eq!(ratio(None, Noise::Laplace).unwrap_err().field, "numerator.kind");
    }
}
