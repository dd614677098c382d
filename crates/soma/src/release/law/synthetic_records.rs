//! Synthetic records drawn from a noisy histogram: the paper's sanitized database (its Example 1).

use rand_distr::{Binomial, Distribution};

use super::Noise;
use crate::error::{Invalid, positive};
use crate::release::mechanism::{Budget, Mechanism, Neighbours};
use crate::release::part::{JointLaw, Layer};
use crate::release::query::Query;
use crate::rng::Rng;

/// The law of how many of k synthetic records are in each cell: noise is added to the true counts,
/// what is negative is put up to zero, and the k records are drawn with probabilities proportional to
/// the rest; where all are zero, each cell is equally likely.
///
/// Given the noisy counts the synthetic ones are multinomial. The noisy counts are not published, and
/// a chain imputes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticRecords {
    noise: Noise,
    scale: f64,
    cells: usize,
    records: u64,
}

impl SyntheticRecords {
    /// So many synthetic records of the cells, from counts with noise of this kind and scale.
    pub fn new(noise: Noise, scale: f64, cells: usize, records: u64) -> Result<Self, Invalid> {
        positive("noise.scale", scale)?;
        if cells < 2 {
            let allowed = "at least two cells";
            return Err(Invalid::new("values", "nothing is published", cells, allowed));
        }
        Ok(SyntheticRecords { noise, scale, cells, records })
    }

    /// The noise of a count, and its scale.
    pub fn noise(&self) -> (Noise, f64) {
        (self.noise, self.scale)
    }

    /// The log probability of the synthetic counts given the noisy counts, up to the multinomial
    /// coefficient.
    pub fn log_probability(&self, synthetic: &[i64], noisy: &[f64]) -> f64 {
        let sum: f64 = noisy.iter().map(|y| y.max(0.0)).sum();
        if sum <= 0.0 {
            return -(self.records as f64) * (self.cells as f64).ln();
        }
        let each = synthetic.iter().zip(noisy).filter(|(count, _)| **count > 0);
        each.map(|(&count, y)| count as f64 * (y.max(0.0) / sum).ln()).sum()
    }
}

impl JointLaw for SyntheticRecords {
    fn name(&self) -> &'static str {
        "synthetic-records"
    }

    fn describe(&self) -> String {
        format!(
            "{} synthetic records drawn from counts with {} noise of scale {}, clamped at zero",
            self.records,
            self.noise.name(),
            self.scale
        )
    }

    fn published(&self) -> usize {
        self.cells
    }

    fn check(&self, query: &dyn Query, values: &[f64]) -> Result<(), Invalid> {
        if query.dim() != self.cells || query.cells().is_none() {
            return Err(Invalid::new(
                "query",
                "synthetic records are counted in cells",
                format!("a {} query of {} values", query.kind(), query.dim()),
                "a categories, histogram or table query with a value for each cell",
            ));
        }
        let is_count = |value: f64| value >= 0.0 && value.fract() == 0.0 && value < 9e15;
        if let Some(at) = values.iter().position(|&value| !is_count(value)) {
            return Err(Invalid::new(
                format!("values[{at}]"),
                "is not a number of records",
                values[at],
                "how many synthetic records are in each cell: whole numbers from 0 up",
            ));
        }
        let sum: f64 = values.iter().sum();
        if sum != self.records as f64 {
            let allowed = format!("{} synthetic records, as the law says", self.records);
            return Err(Invalid::new("values", "are of another number of records", sum, allowed));
        }
        Ok(())
    }

    /// What is drawn from the noisy counts costs nothing more.
    fn implied(&self, query: &dyn Query, neighbours: Neighbours, _: Option<i64>) -> Option<Budget> {
        let mechanism = Mechanism::new(self.noise, vec![self.scale; self.cells]).ok()?;
        mechanism.implied(|weights| neighbours.sensitivity(query).times(weights[0]))
    }

    fn layer(&self) -> Option<Layer> {
        Some(Layer::Synthetic(*self))
    }

    /// Not known but through the noisy counts, which a chain of counts imputes.
    fn log_density(&self, _: &[f64], _: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let noisy = |&sum: &f64| (sum + self.noise.sample(self.scale, rng)).max(0.0);
        let mut weights: Vec<f64> = sums.iter().map(noisy).collect();
        if weights.iter().sum::<f64>() <= 0.0 {
            weights.fill(1.0);
        }
        let mut left: f64 = weights.iter().sum();
        let mut records = self.records;
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        let draw = |(cell, &weight): (usize, &f64)| {
            let drawn = match cell == last {
                true => records,
                false => binomial(records, weight / left, rng),
            };
            records -= drawn;
            left -= weight;
            drawn as f64
        };
        weights.iter().enumerate().map(draw).collect()
    }

    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64> {
        let records = self.records.max(1) as f64;
        values.iter().map(|value| n * value / records).collect()
    }

    fn scales(&self, _: &[f64], n: f64) -> Vec<f64> {
        let sampling = n * n / (4.0 * self.records.max(1) as f64);
        vec![(self.noise.variance(self.scale) + sampling).sqrt().max(1.0); self.cells]
    }
}

fn binomial(n: u64, p: f64, rng: &mut Rng) -> u64 {
    Binomial::new(n, p.clamp(0.0, 1.0)).map_or(0, |binomial| binomial.sample(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// Frequencies of all outcomes of two cells and two records, against sums over the noise.
    #[test]
    fn draws_have_their_probabilities() {
        let (noise, scale) = (Noise::DiscreteLaplace, 1.3);
        let law = SyntheticRecords::new(noise, scale, 2, 2).unwrap();
        let truth = [1.0, 3.0];
        let mut expected = [0.0; 3];
        for a in -40..=40 {
            for b in -40..=40 {
                let noisy = [truth[0] + f64::from(a), truth[1] + f64::from(b)];
                let mass =
                    noise.log_density(scale, f64::from(a)) + noise.log_density(scale, f64::from(b));
                for (first, coefficient) in [1.0_f64, 2.0, 1.0].into_iter().enumerate() {
                    let counts = [first as i64, 2 - first as i64];
                    expected[first] +=
                        coefficient * (mass + law.log_probability(&counts, &noisy)).exp();
                }
            }
        }
        assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{expected:?}");
        let mut rng = stream(8, 0);
        let mut found = [0.0; 3];
        const DRAWS: usize = 40_000;
        (0..DRAWS).for_each(|_| found[law.sample(&truth, &mut rng)[0] as usize] += 1.0);
        for (found, p) in found.iter().zip(expected) {
            let (mean, sd) = (DRAWS as f64 * p, (DRAWS as f64 * p * (1.0 - p)).sqrt());
            assert!((found - mean).abs() < 4.5 * sd, "{found}, expected {mean} +- {sd}");
        }
    }
}
