//! A noisy sum divided by a noisy count, of which the ratio alone was published, as averages of
//! several libraries are: middle + (sum of (t - middle) + A) / (n + B).

use super::Noise;
use crate::error::{Invalid, finite, positive};
use crate::release::part::JointLaw;
use crate::release::query::Query;
use crate::rng::Rng;

/// The law of ratios with one noisy count as their denominator: given the sums S_k of the centred
/// statistics and the number of records n,
///
/// > p(y) = sum over B of P(B given n) prod_k |B| f((y_k - middle_k) B - S_k),
///
/// f being the density of the noise of a sum. The statistics are those of a query, and then 1 for
/// every record.
#[derive(Debug, Clone)]
pub struct Ratio {
    /// The noise of the sums, which is continuous, and its scale.
    pub numerator: (Noise, f64),
    /// The noise of the count, whole numbers, and its scale.
    pub denominator: (Noise, f64),
    /// What is subtracted from each statistic before it is summed, and added to the ratio.
    pub middle: Vec<f64>,
    /// A noisy count below this is put up to it.
    pub least: Option<f64>,
}

/// Noise beyond so many scales is left out of the sum over noisy counts.
const REACH: f64 = 30.0;

impl Ratio {
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
        positive("numerator.scale", self.numerator.1)?;
        positive("denominator.scale", self.denominator.1)?;
        self.middle.iter().try_for_each(|&middle| finite("middle", middle).map(|_| ()))?;
        if self.numerator.0.is_discrete() || !self.denominator.0.is_discrete() {
            return Err(Invalid::new(
                "numerator.kind",
                "the noise of the sum is continuous, and that of the count whole numbers",
                format!("{} and {}", self.numerator.0.name(), self.denominator.0.name()),
                "laplace or gaussian noise of the numerator; discrete-laplace, discrete-gaussian \
                 or rounded-laplace noise of the denominator",
            ));
        }
        Ok(())
    }

    fn log_density(&self, values: &[f64], sums: &[f64]) -> f64 {
        let (sums, n) = self.centred(sums);
        let ((above, scale), (below, count_scale)) = (self.numerator, self.denominator);
        // The density of the sums' noise at the density's own top, which is left out of each term.
        let top = above.log_density(scale, 0.0);
        let reach = (REACH * count_scale).ceil();
        let mut total = 0.0;
        let mut noise = -reach;
        while noise <= reach {
            let denominator = self.denominator(n + noise);
            let mut log = below.log_density(count_scale, noise);
            let mut factor = 1.0;
            for ((y, middle), sum) in values.iter().zip(&self.middle).zip(&sums) {
                log += above.log_density(scale, (y - middle) * denominator - sum) - top;
                factor *= denominator.abs();
            }
            total += factor * log.exp();
            noise += 1.0;
        }
        total.ln() + top * values.len() as f64
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let (sums, n) = self.centred(sums);
        let ((above, scale), (below, count_scale)) = (self.numerator, self.denominator);
        let denominator = self.denominator(n + below.sample(count_scale, rng));
        let ratio = |(sum, middle): (f64, &f64)| {
            // A ratio with nothing below it is published as its middle.
            let ratio = (sum + above.sample(scale, rng)) / denominator;
            if ratio.is_finite() { middle + ratio } else { *middle }
        };
        sums.into_iter().zip(&self.middle).map(ratio).collect()
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

    fn ratio(least: Option<f64>) -> Ratio {
        Ratio {
            numerator: (Noise::Laplace, 1.0),
            denominator: (Noise::DiscreteLaplace, 1.5),
            middle: vec![0.3],
            least,
        }
    }

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let law = ratio(Some(1.0));
        let density = |y: f64| law.log_density(&[y], &[9.0, 12.0]).exp();
        let below = |y: f64| integral(-30.0, y.max(-30.0), density);
        assert!((below(30.0) - 1.0).abs() < 1e-4, "{}", below(30.0));
        let mut rng = stream(3, 0);
        let mut draws: Vec<f64> =
            (0..2_000).map(|_| law.sample(&[9.0, 12.0], &mut rng)[0]).collect();
        assert_follows("ratios", &mut draws, below);
    }

    #[test]
    fn kinds_of_noise_are_checked() {
        let query = crate::release::query::Count::new(1);
        assert!(ratio(None).check(&query, &[0.4]).is_ok());
        let wrong = Ratio { denominator: (Noise::Laplace, 1.0), ..ratio(None) };
        assert_eq!(wrong.check(&query, &[0.4]).unwrap_err().field, "numerator.kind");
    }
}
