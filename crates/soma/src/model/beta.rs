//! Records between 0 and 1.

mod stored;

use rand_distr::Distribution;
use soma_language::special::{BetaTable, TABLE_ROWS};
use statrs::function::beta::ln_beta;

use super::CoupledUpdate;
use super::dirichlet::{SMALL_SHAPE, bring_within_reach, log_small_gamma, mean_logs};
use super::dirichlet_conditional::{DirichletConditional, update_pair};
use super::{GammaPrior, Model, PlugInFit, Price, Recipe, Transport, plug_in};
use crate::counts::Shares;
use crate::counts::models::BetaCells;
use crate::error::{Invalid, Outcome, positive};
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::Rng;

/// x ~ Beta(a, b), with density proportional to x^(a - 1) (1 - x)^(b - 1); a and b have independent
/// gamma priors, or are fixed.
///
/// A record closer to 0 or to 1 than floating point can represent is stored by the logarithm of its
/// distance from the edge, as a number just outside [0, 1] (see `beta/stored.rs`): that distance
/// determines how small a or b is.
#[derive(Debug, Clone)]
pub struct Beta {
    priors: [GammaPrior; 2],
}

/// From this b on, 1 - x is below the floating point spacing at 1 with probability 1e-16, and x is
/// stored as it is.
const PLAIN_SHAPE: f64 = 1.0;

impl Beta {
    /// The model with the priors of a and b.
    pub fn new(a: GammaPrior, b: GammaPrior) -> Self {
        Beta { priors: [a, b] }
    }
}

impl Beta {
    /// The conditional of theta given records with these sums of logarithms.
    fn given<'a>(&'a self, records: &[f64], log_sums: &'a [f64]) -> DirichletConditional<'a> {
        DirichletConditional { priors: &self.priors, n: records.len() as f64, log_sums }
    }
}

impl Model for Beta {
    fn kind(&self) -> &'static str {
        "beta"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        positive("a", theta[0])?;
        positive("b", theta[1])?;
        Ok(())
    }

    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        release.check_reach_of(self.kind(), &[(0.0, 1.0)])
    }

    fn supports(&self, record: &[f64]) -> bool {
        record.iter().all(|x| stored::is_one(*x))
    }

    fn show(&self, records: &mut [f64]) {
        records.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        for (shape, prior) in theta.iter_mut().zip(&self.priors) {
            *shape = prior.sample(rng)?;
        }
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(theta.iter().zip(&self.priors).map(|(&shape, prior)| prior.log_density(shape)).sum())
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        if theta[0] < SMALL_SHAPE || theta[1] < PLAIN_SHAPE {
            for x in records {
                let [a, b] = [log_small_gamma(theta[0], rng)?, log_small_gamma(theta[1], rng)?];
                *x = stored::of_logit(a - b);
            }
            return Ok(());
        }
        let beta = rand_distr::Beta::new(theta[0], theta[1])?;
        records.iter_mut().for_each(|x| *x = stored::of(beta.sample(rng)));
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let x = record[0];
        if !stored::is_one(x) {
            return Ok(f64::NEG_INFINITY);
        }
        let [log_x, log_rest] = stored::logs(x);
        Ok((theta[0] - 1.0) * log_x + (theta[1] - 1.0) * log_rest - ln_beta(theta[0], theta[1]))
    }

    /// If the priors of a and b are within the range of the computed distribution function.
    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let priors = self.priors.map(|GammaPrior { shape, rate }| (shape, rate));
        let cells = BetaCells::new(super::only_cuts(axes)?, priors).ok()?;
        cells.holds_prior().then(|| Shares::of(cells))
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        self.given(records, &stored::log_sums(records)).update(theta, rng)
    }

    /// A draw from the normal approximation given a quarter of the records that the release is
    /// worth, with mean logarithms from its moments.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let Some(moments) = release.query().moments(&release.plausible_means()) else {
            return self.sample_prior(theta, rng);
        };
        let mean = moments.mean[0].clamp(1e-3, 1.0 - 1e-3);
        let variance = moments.covariance.map(|covariance| [covariance[(0, 0)]; 2]);
        let mut logs = mean_logs(&[mean, 1.0 - mean], variance.as_ref().map(|v| &v[..]));
        bring_within_reach(&mut logs);
        let n = 0.25 * release.worth();
        let log_sums = [n * logs[0], n * logs[1]];
        DirichletConditional { priors: &self.priors, n, log_sums: &log_sums }
            .sample_approximation(theta, rng)
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Beta { priors: self.priors.map(|GammaPrior { shape, rate }| (shape, rate)) })
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        plug_in::beta(release)
    }

    fn price(&self, n: usize) -> Price {
        let [build, inverse] = BetaTable::costs(n);
        Price { draw: 5.0, update: 0.7 + 380.0 / n as f64, build, inverse }
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }
}

/// x is the beta quantile of Phi(e); the unconstrained theta is (log a, log b).
impl Transport for Beta {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        free.iter_mut().zip(theta).for_each(|(free, shape)| *free = shape.ln());
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        theta.iter_mut().zip(free).for_each(|(shape, free)| *shape = free.exp());
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        free.iter().zip(&self.priors).map(|(&free, prior)| prior.log_density_free(free)).sum()
    }

    fn rows_at_once(&self) -> usize {
        TABLE_ROWS
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        let quantile = BetaTable::new(theta[0], theta[1]);
        for (x, e) in records.iter_mut().zip(noise) {
            *x = stored::of_logit(quantile.logit(*e));
        }
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        let quantile = BetaTable::new(theta[0], theta[1]);
        for (e, x) in noise.iter_mut().zip(records) {
            *e = quantile.normal(stored::logit(*x));
        }
        Ok(())
    }
}

impl CoupledUpdate for Beta {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        let sums = records.map(stored::log_sums);
        let laws = [0, 1].map(|side| self.given(records[side], &sums[side]));
        update_pair([&laws[0], &laws[1]], theta, rng)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::testing::*;
    use crate::release::mechanism::Noise;
    use crate::release::query::{Histogram, Mean};
    use crate::release::{Aggregate, Mechanism, Query};
    use crate::rng::stream;
    use statrs::function::beta::beta_reg;
    use statrs::function::gamma::gamma_lr;

    fn model() -> Beta {
        Beta::new(GammaPrior::new(2.0, 0.5).unwrap(), GammaPrior::new(3.0, 1.0).unwrap())
    }

    #[test]
    fn coupled_updates_leave_prior_times_density_invariant() {
        let records = [&[0.3, 0.6, 0.55, 0.1, 0.2], &[0.35, 0.6, 0.5, 0.15, 0.2]];
        assert_coupled_update(&model(), &[2.0, 2.0], records.map(|r| &r[..]));
        assert_coupled_update(&model(), &[2.0, 2.0], [&[0.999], &[0.4]]);
    }

    #[test]
    fn prior_draws_follow_the_prior() {
        assert_prior(&model(), 50_000);
    }

    #[test]
    fn updates_leave_prior_times_density_invariant() {
        assert_update(&model(), &[2.0, 2.0], &[0.3, 0.6, 0.55, 0.1, 0.2], 20_000);
        assert_update(&model(), &[2.0, 2.0], &[0.999], 20_000);
    }

    #[test]
    fn density_integrates_to_one() {
        for theta in [[2.5, 4.0], [10.0, 10.0], [3.0, 80.0]] {
            let mass =
                integral(1e-12, 1.0 - 1e-12, |x| model().log_density(&theta, &[x]).unwrap().exp());
            assert!((mass - 1.0).abs() < 1e-6, "{mass}");
        }
        assert_eq!(model().log_density(&[2.0, 2.0], &[1.5]).unwrap(), f64::NEG_INFINITY);
    }

    #[test]
    fn proposals_follow_the_distribution() {
        let mut rng = stream(2, 0);
        for theta in [[2.5, 4.0], [0.05, 0.3], [0.7, 0.2], [10.0, 10.0], [300.0, 5.0]] {
            let mut records = vec![0.0; 20_000];
            model().propose(&theta, &mut records, &mut rng).unwrap();
            let below = |x: f64| beta_reg(theta[0], theta[1], x.clamp(0.0, 1.0));
            assert_follows("records", &mut records, below);
        }
    }

    #[test]
    fn transport_is_one_to_one_and_gives_standard_noise() {
        let mut rng = stream(3, 0);
        for theta in [vec![2.5, 4.0], vec![0.3, 2.0], vec![200.0, 50.0]] {
            assert_transport(&model(), &theta, &mut rng);
        }
        assert_jacobian(&model(), &[vec![2.5, 4.0], vec![0.3, 8.0]]);
    }

    /// Also if most records are nearer to 0 or 1 than floating point resolves.
    #[test]
    fn small_shapes_have_their_transport() {
        let mut rng = stream(4, 0);
        for theta in [vec![2.0, 0.02], vec![0.3, 0.001], vec![0.002, 0.5], vec![0.01, 0.01]] {
            assert_transport(&model(), &theta, &mut rng);
        }
    }

    /// Geweke's test: theta from the prior, records given theta, theta given records has the prior
    /// distribution. Small values of b are distinguished by log(1 - x) only, as small a by log x.
    #[test]
    fn records_keep_what_tells_small_shapes_apart() {
        let mut rng = stream(5, 0);
        for (a, b) in [((2.0, 1.0), (0.5, 1.0)), ((0.5, 1.0), (2.0, 1.0))] {
            let prior = |(shape, rate)| GammaPrior::new(shape, rate).unwrap();
            let model = Beta::new(prior(a), prior(b));
            let mut after = [Vec::new(), Vec::new()];
            for _ in 0..4000 {
                let (mut theta, mut records) = ([0.0; 2], [0.0; 10]);
                model.sample_prior(&mut theta, &mut rng).unwrap();
                model.propose(&theta, &mut records, &mut rng).unwrap();
                model.update(&mut theta, &records, &mut rng).unwrap();
                after.iter_mut().zip(theta).for_each(|(all, shape)| all.push(shape));
            }
            for (all, (shape, rate)) in after.iter_mut().zip([a, b]) {
                assert_follows("a shape", all, |x| gamma_lr(shape, rate * x));
            }
        }
    }

    fn release(query: impl Query + 'static, n: usize, values: Vec<f64>, scale: f64) -> Release {
        let mechanism = Mechanism::new(Noise::Laplace, vec![scale; values.len()]).unwrap();
        Release::new(Arc::new(query), mechanism, Aggregate::Mean, n, values).unwrap()
    }

    #[test]
    fn starts_are_near_a_release_and_sane_for_absurd_ones() {
        let bins = || Histogram::with_equal_bins(&[((0.0, 1.0), 10)]).unwrap();
        let values = vec![0.0, 0.0, 0.05, 0.15, 0.3, 0.3, 0.15, 0.05, 0.0, 0.0];
        let near = starts(&model(), &release(bins(), 1000, values, 1e-4));
        let means: Vec<f64> = near.iter().map(|theta| theta[0] / (theta[0] + theta[1])).collect();
        assert!((mean_and_error(&means).0 - 0.5).abs() < 0.05);
        for value in [-1e15, 0.0, 0.5, 1.0, 1e15] {
            for scale in [1e-9, 1.0, 1e9] {
                starts(&model(), &release(bins(), 50, vec![value; 10], scale));
                let mean = Mean::new(vec![(0.0, 1.0)]).unwrap();
                starts(&model(), &release(mean, 50, vec![value], scale));
            }
        }
    }

    #[test]
    fn shown_records_lie_between_0_and_1() {
        let mut records = [0.0; 200];
        model().propose(&[0.001, 0.001], &mut records, &mut stream(6, 0)).unwrap();
        assert!(records.iter().any(|x| *x < 0.0) && records.iter().any(|x| *x > 1.0));
        assert!(model().supports(&records));
        model().show(&mut records);
        assert!(records.iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn bad_theta_is_refused() {
        assert_eq!(model().check_theta(&[1.0, f64::INFINITY]).unwrap_err().field, "b");
    }

    #[test]
    fn draws_are_pinned() {
        assert_pinned(
            &first_draws(&model(), &[2.5, 4.0]),
            &[
                2.762986410639297,
                3.2483072128817883,
                0.2680062582180253,
                0.3635361857345196,
                0.9675624594228935,
                1.9484208770326914,
            ],
        );
    }
}
