//! Categories with unknown probabilities.

use rand::RngExt;
use statrs::function::gamma::ln_gamma;

use super::CoupledUpdate;
use super::dirichlet::sample_shares;
use super::{Model, PlugInFit, Recipe, plug_in};
use crate::counts::Shares;
use crate::distribution::{DirichletLaw, draw_pair};
use crate::error::{Invalid, Outcome, listed, positive};
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::Rng;

/// A record is an index from 0 to C - 1, category c with probability p_c; theta is (p_0, ...,
/// p_C-1), with a conjugate Dirichlet prior.
#[derive(Debug, Clone)]
pub struct Categorical {
    prior: Vec<f64>,
    names: Vec<String>,
}

impl Categorical {
    /// The model with the parameters of the Dirichlet prior, one for each category.
    pub fn new(prior: Vec<f64>) -> Result<Self, Invalid> {
        if prior.len() < 2 {
            return Err(Invalid::new(
                "prior.alpha",
                "there must be two categories",
                prior.len(),
                "a positive number for each of two or more categories",
            ));
        }
        for (c, &alpha) in prior.iter().enumerate() {
            positive(&format!("prior.alpha[{c}]"), alpha)?;
        }
        let names = (0..prior.len()).map(|c| format!("p{c}")).collect();
        Ok(Categorical { prior, names })
    }

    /// Adds the label of each category to the names of the parameters: `p[label]`, unless the label
    /// is the index.
    pub fn labelled(mut self, labels: Vec<String>) -> Self {
        for (c, (name, label)) in self.names.iter_mut().zip(labels).enumerate() {
            if label != c.to_string() {
                *name = format!("p[{label}]");
            }
        }
        self
    }

    /// Where among the statistics of all parts, one after the other, the counts of the categories
    /// begin, if a part has them.
    fn first_count(&self, release: &Release) -> Option<usize> {
        let parts = release.published_parts();
        let counted = parts.iter().position(|part| part.query().categories().is_some())?;
        Some(parts[..counted].iter().map(|part| part.query().dim()).sum())
    }

    /// The parameters of the Dirichlet conditional of theta given records, from which
    /// [`update`](Model::update) draws.
    pub fn posterior(&self, records: &[f64]) -> Vec<f64> {
        let mut counts = self.prior.clone();
        let last = counts.len() - 1;
        records.iter().for_each(|x| counts[(*x as usize).min(last)] += 1.0);
        counts
    }
}

impl Model for Categorical {
    fn kind(&self) -> &'static str {
        "categorical"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        if let Some(c) = theta.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let allowed = "a number from 0 to 1";
            let name = &self.names[c];
            return Err(Invalid::new(name, "must be a probability", theta[c], allowed));
        }
        let sum: f64 = theta.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(Invalid::new(
                "",
                "probabilities must sum to one",
                format!("a sum of {sum}"),
                "probabilities with the sum 1",
            ));
        }
        Ok(())
    }

    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        let has = self.prior.len();
        if let Some(needs) = release.record_query().categories().filter(|&needs| needs != has) {
            return Err(Invalid::new(
                "model.prior.alpha",
                "the model and the query have different categories",
                format!("{has} categories in the model"),
                format!("{needs}: {}", listed(&release.record_query().labels())),
            ));
        }
        Ok(())
    }

    fn supports(&self, record: &[f64]) -> bool {
        let categories = 0.0..self.names.len() as f64;
        record.iter().all(|x| categories.contains(x) && x.fract() == 0.0)
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        sample_shares(&self.prior, theta, rng)
    }

    /// With respect to the first C - 1 probabilities.
    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        if theta.iter().any(|p| !(0.0..=1.0).contains(p)) {
            return Ok(f64::NEG_INFINITY);
        }
        let parts = self.prior.iter().zip(theta);
        let logs: f64 = parts.map(|(alpha, p)| (alpha - 1.0) * p.ln() - ln_gamma(*alpha)).sum();
        Ok(logs + ln_gamma(self.prior.iter().sum()))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let mut total = 0.0;
        let cumulative: Vec<f64> = theta
            .iter()
            .map(|p| {
                total += p;
                total
            })
            .collect();
        for x in records {
            let level = rng.random::<f64>() * total;
            *x = cumulative.partition_point(|&sum| sum <= level) as f64;
        }
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let is_category = record[0].fract() == 0.0 && record[0] >= 0.0;
        let p = if is_category { theta.get(record[0] as usize) } else { None };
        Ok(p.map_or(f64::NEG_INFINITY, |p| p.ln()))
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Categorical { prior: self.prior.clone() })
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        match self.first_count(release) {
            Some(first) => plug_in::categorical(release, first, self.prior.len()),
            None => PlugInFit::Unknown,
        }
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn categories(&self) -> Option<usize> {
        Some(self.prior.len())
    }

    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let cells: usize = axes.iter().map(|axis| axis.labels.len()).product();
        let fits = cells == self.prior.len() && axes.iter().all(|axis| axis.cuts.is_none());
        fits.then(|| Shares::Dirichlet(self.prior.clone()))
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        sample_shares(&self.posterior(records), theta, rng)
    }

    /// A draw given a quarter of the records that the release is worth, in its own proportions.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let counted = self.first_count(release);
        let before = counted.unwrap_or(0);
        let means = release.plausible_means();
        let shares = means.get(before..before + self.prior.len()).unwrap_or_default();
        let total: f64 = shares.iter().sum();
        if counted.is_none() || total <= 0.0 {
            return self.sample_prior(theta, rng);
        }
        let n = 0.25 * release.worth();
        let counts = self.prior.iter().zip(shares).map(|(alpha, share)| alpha + n * share / total);
        sample_shares(&counts.collect::<Vec<f64>>(), theta, rng)
    }
}

impl CoupledUpdate for Categorical {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        let law = |records| DirichletLaw::new(self.posterior(records));
        draw_pair([law(records[0])?, law(records[1])?], theta, rng)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chain::Problem;
    use crate::model::testing::*;
    use crate::release::mechanism::Noise;
    use crate::release::query::Categories;
    use crate::release::{Aggregate, Mechanism};
    use crate::rng::stream;

    fn model() -> Categorical {
        Categorical::new(vec![1.0, 0.5, 2.0]).unwrap()
    }

    fn release(categories: usize, n: usize, values: Vec<f64>, scale: f64) -> Release {
        let query = Categories::new(categories).unwrap();
        let mechanism = Mechanism::new(Noise::DiscreteLaplace, vec![scale; values.len()]).unwrap();
        Release::new(Arc::new(query), mechanism, Aggregate::Sum, n, values).unwrap()
    }

    /// First and second moments of Dirichlet draws.
    fn assert_dirichlet(what: &str, draws: &[Vec<f64>], alpha: &[f64]) {
        let total: f64 = alpha.iter().sum();
        for c in 0..alpha.len() {
            let column: Vec<f64> = draws.iter().map(|p| p[c]).collect();
            assert_mean(what, &column, alpha[c] / total);
            let squares: Vec<f64> = column.iter().map(|p| p * p).collect();
            assert_mean(what, &squares, alpha[c] * (alpha[c] + 1.0) / (total * (total + 1.0)));
        }
    }

    #[test]
    fn prior_and_update_are_dirichlet() {
        let mut rng = stream(1, 0);
        let mut theta = vec![0.0; 3];
        let mut draws = |records: Option<&[f64]>| {
            let mut one = || {
                match records {
                    None => model().sample_prior(&mut theta, &mut rng).unwrap(),
                    Some(records) => model().update(&mut theta, records, &mut rng).unwrap(),
                }
                theta.clone()
            };
            (0..100_000).map(|_| one()).collect::<Vec<_>>()
        };
        assert_dirichlet("prior", &draws(None), &[1.0, 0.5, 2.0]);
        assert_dirichlet("update", &draws(Some(&[0.0, 2.0, 2.0, 0.0, 0.0])), &[4.0, 0.5, 4.0]);
    }

    #[test]
    fn coupled_updates_are_dirichlet() {
        let (model, mut rng) = (model(), stream(3, 0));
        let (mut first, mut second) = (vec![0.0; 3], vec![0.0; 3]);
        let mut update = |records| {
            model.update_pair([&mut first, &mut second], records, &mut rng).unwrap();
            (first.clone(), second.clone())
        };
        let records: [&[f64]; 2] = [&[0.0, 2.0, 2.0, 0.0, 0.0], &[0.0, 2.0, 1.0, 0.0, 0.0]];
        assert!((0..100).map(|_| update([records[0]; 2])).all(|(x, y)| x == y));
        let (x, y): (Vec<_>, Vec<_>) = (0..50_000).map(|_| update(records)).unzip();
        assert!(x.iter().zip(&y).any(|(x, y)| x == y), "they never meet");
        assert_dirichlet("first", &x, &[4.0, 0.5, 4.0]);
        assert_dirichlet("second", &y, &[4.0, 1.5, 3.0]);
    }

    #[test]
    fn proposals_have_the_probabilities() {
        let theta = [0.2, 0.0, 0.8];
        let mut records = vec![0.0; 50_000];
        model().propose(&theta, &mut records, &mut stream(2, 0)).unwrap();
        for (c, p) in theta.iter().enumerate() {
            let hits: Vec<f64> = records.iter().map(|x| (*x == c as f64) as u8 as f64).collect();
            assert_mean("share", &hits, *p);
            assert_eq!(model().log_density(&theta, &[c as f64]).unwrap(), p.ln());
        }
        assert_eq!(model().log_density(&theta, &[3.0]).unwrap(), f64::NEG_INFINITY);
        assert_eq!(model().log_density(&theta, &[0.5]).unwrap(), f64::NEG_INFINITY);
    }

    #[test]
    fn starts_are_near_a_release_and_sane_for_absurd_ones() {
        let starts = |values: Vec<f64>, scale| starts(&model(), &release(3, 100, values, scale));
        let near = starts(vec![20.0, 30.0, 50.0], 1.0);
        let (share, error) = mean_and_error(&near.iter().map(|p| p[2]).collect::<Vec<f64>>());
        assert!((share - 0.5).abs() < 0.05 && error > 1e-3);
        for value in [-1e15, 0.0, 1e15] {
            starts(vec![value; 3], 1e-3);
            starts(vec![value; 3], 1e9);
        }
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(Categorical::new(vec![1.0]).is_err());
        assert!(Categorical::new(vec![1.0, 0.0]).is_err());
        assert!(model().check_theta(&[0.5, 0.5, 0.5]).is_err());
        assert_eq!(model().check_theta(&[0.5, -0.5, 1.0]).unwrap_err().field, "p1");
        let four = release(4, 5, vec![1.0; 4], 1.0);
        assert!(Problem::new(four, Arc::new(model())).is_err());
    }

    #[test]
    fn draws_are_pinned() {
        assert_pinned(
            &first_draws(&model(), &[0.2, 0.3, 0.5]),
            &[
                0.258507140639387,
                0.005847934629877087,
                0.735644924730736,
                1.0,
                0.0,
                0.8112436198579609,
                0.15682310937981825,
                0.031933270762220835,
            ],
        );
    }
}
