//! What a draw would hold before the release was seen.

use super::Problem;
use crate::counts::draw_size;
use crate::error::Outcome;
use crate::kernel::Records;
use crate::release::{SizePrior, Total};
use crate::rng::Rng;

impl Problem {
    /// A draw from the prior, in the order of [`outputs`](Problem::outputs): theta, or summaries of
    /// records of the model where theta is fixed; counts of such records; the number of records; and
    /// what is derived from them. NaN for what has no proper prior: with a flat prior of n all but
    /// theta and what follows from it.
    ///
    /// Costs n records where theta is fixed, and theta alone otherwise.
    pub fn draw_prior(&self, rng: &mut Rng) -> Outcome<Vec<f64>> {
        let total = self.release.total();
        let is_flat = total == Total::Unknown(SizePrior::Flat);
        if let (Ok(counts), false) = (&self.counts, is_flat) {
            return Ok(self.with_derived(counts.simulate(rng)?.values));
        }
        let mut theta = vec![0.0; self.model.parameters().len()];
        match &self.fixed {
            Some(fixed) => theta.copy_from_slice(fixed),
            None => self.model.sample_prior(&mut theta, rng)?,
        }
        if self.fixed.is_some() && !is_flat {
            let records = self.simulate_records(&theta, rng)?;
            return Ok(self.output(&theta, &Records::new(&self.release, records)?));
        }
        let mut draw = if self.fixed.is_some() { Vec::new() } else { theta };
        draw.resize(self.plain_output_count(), f64::NAN);
        if self.release.slotted().is_some() && !is_flat {
            let last = draw.len() - 1;
            draw[last] = draw_size(total, rng)? as f64;
        }
        Ok(self.with_derived(draw))
    }
}

#[cfg(test)]
mod tests {
    use crate::rng::stream;
    use crate::spec::Spec;

    fn means(text: &str, draws: usize) -> Vec<(String, f64, f64)> {
        let problem = Spec::parse(text).unwrap().problem;
        let mut rng = stream(5, 0);
        let rows: Vec<Vec<f64>> =
            (0..draws).map(|_| problem.draw_prior(&mut rng).unwrap()).collect();
        let names = problem.outputs().into_iter().enumerate();
        let of = |(k, name): (usize, String)| {
            let mean = rows.iter().map(|row| row[k]).sum::<f64>() / draws as f64;
            let squares = rows.iter().map(|row| (row[k] - mean).powi(2)).sum::<f64>();
            (name, mean, (squares / draws as f64).sqrt())
        };
        names.map(of).collect()
    }

    /// Means and deviations of a beta(2, 6) share, of its binomial count and of what is derived, from
    /// their formulas, within 4.5 standard errors.
    #[test]
    fn shares_counts_and_derived_quantities_have_their_prior() {
        let text = r#"
            derived = { odds = "p[a] / p[b]", double = "2 * p[a]" }
            [release]
            n = 40
            values = [10, 30]
            statistic = "sum"
            query = { kind = "categories", labels = ["a", "b"] }
            mechanism = { kind = "discrete-laplace", scale = 2.0 }
            [model]
            kind = "categorical"
            prior = { kind = "dirichlet", alpha = [2.0, 6.0] }
        "#;
        let draws = 4000;
        let found = means(text, draws);
        let at = |name: &str| found.iter().find(|(other, ..)| other == name).unwrap().clone();
        let root = (draws as f64).sqrt();
        for (name, mean, sd) in [
            ("p[a]", 0.25, (2.0 * 6.0 / (64.0 * 9.0_f64)).sqrt()),
            // Beta-binomial: n a b (a + b + n) / ((a + b)^2 (a + b + 1)).
            ("count[a]", 10.0, (40.0 * 12.0 * 48.0 / (64.0 * 9.0_f64)).sqrt()),
            ("double", 0.5, 2.0 * (2.0 * 6.0 / (64.0 * 9.0_f64)).sqrt()),
            // Beta prime: a / (b - 1), and its variance.
            ("odds", 0.4, (2.0 * 7.0 / (4.0 * 25.0_f64)).sqrt()),
        ] {
            let (_, found, spread) = at(name);
            assert!((found - mean).abs() < 4.5 * sd / root, "{name}: {found} for {mean}");
            assert!((spread / sd - 1.0).abs() < 0.2, "{name}: {spread} for {sd}");
        }
    }

    #[test]
    fn what_has_no_proper_prior_is_not_a_number() {
        let text = r#"
            derived = { more = "count[a] > count[b]", few = "n < 1", most = "p[a] > 0.5" }
            [release]
            n = "unknown"
            values = [10, 30]
            statistic = "sum"
            query = { kind = "categories", labels = ["a", "b"] }
            mechanism = { kind = "discrete-laplace", scale = 2.0 }
            [model]
            kind = "categorical"
            prior = { kind = "dirichlet", alpha = [2.0, 6.0] }
        "#;
        let found = means(text, 50);
        for (name, mean, _) in found {
            let has_prior = name.starts_with("p[") || name == "most";
            assert_eq!(mean.is_nan(), !has_prior, "{name}: {mean}");
        }
    }
}
