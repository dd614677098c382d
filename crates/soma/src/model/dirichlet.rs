//! Shares that sum to one.

#[cfg(test)]
mod tests;

use rand::RngExt;
use rand_distr::{Distribution, Gamma};
use soma_language::special::{BetaTable, TABLE_ROWS};
use statrs::function::gamma::{digamma, ln_gamma};

use super::CoupledUpdate;
use super::dirichlet_conditional::{DirichletConditional, log_sum, update_pair};
use super::{GammaPrior, Model, PlugInFit, Price, Recipe, Transport, plug_in};
use crate::error::{Invalid, Outcome, positive};
use crate::interrupt;
use crate::release::Release;
use crate::release::query::CoordinateMap;
use crate::rng::Rng;

/// A record is a composition x1 + ... + xD = 1 with density proportional to prod x_k^(alpha_k - 1);
/// the alpha_k have independent gamma priors.
///
/// Shares are bounded below by the smallest positive number; with an alpha below about 0.02 they
/// would underflow.
#[derive(Debug, Clone)]
pub struct Dirichlet {
    priors: Vec<GammaPrior>,
}

/// Below this shape the logarithm of a gamma is drawn, which cannot underflow.
pub(super) const SMALL_SHAPE: f64 = 0.1;

impl Dirichlet {
    /// The model with a prior for each of two or more alphas.
    pub fn new(priors: Vec<GammaPrior>) -> Result<Self, Invalid> {
        if priors.len() < 2 {
            return Err(Invalid::new(
                "dim",
                "a composition has at least two shares",
                priors.len(),
                "a whole number from 2 up",
            ));
        }
        Ok(Dirichlet { priors })
    }

    /// The stages of stick-breaking: share k as a fraction of the rest after shares 1 to k - 1 is
    /// Beta(alpha_k, alpha_k+1 + ... + alpha_D).
    fn stages(theta: &[f64]) -> Vec<BetaTable> {
        let mut rest = 0.0;
        let stages = theta.iter().rev().map(|alpha| {
            let stage = (*alpha, rest);
            rest += alpha;
            stage
        });
        // The last share is the rest.
        let mut stages: Vec<_> =
            stages.skip(1).map(|(alpha, rest)| BetaTable::new(alpha, rest)).collect();
        stages.reverse();
        stages
    }
}

/// Fills `records` with compositions from the Dirichlet with parameters `alpha`.
pub(super) fn sample_shares(alpha: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
    if alpha.iter().any(|&shape| shape < SMALL_SHAPE) {
        for record in records.chunks_exact_mut(alpha.len()) {
            interrupt::check()?;
            let mut top = f64::NEG_INFINITY;
            for (x, &shape) in record.iter_mut().zip(alpha) {
                *x = log_small_gamma(shape, rng)?;
                top = top.max(*x);
            }
            record.iter_mut().for_each(|x| *x = (*x - top).exp());
            normalise(record);
        }
        return Ok(());
    }
    let gammas: Vec<Gamma<f64>> =
        alpha.iter().map(|&shape| Gamma::new(shape, 1.0)).collect::<Result<_, _>>()?;
    for record in records.chunks_exact_mut(alpha.len()) {
        interrupt::check()?;
        for (x, gamma) in record.iter_mut().zip(&gammas) {
            *x = gamma.sample(rng);
        }
        normalise(record);
    }
    Ok(())
}

/// The logarithm of a gamma of small shape: a gamma of shape + 1, times U^(1 / shape).
pub(super) fn log_small_gamma(shape: f64, rng: &mut Rng) -> Outcome<f64> {
    let size: f64 = rng.sample(rand_distr::Exp1);
    Ok(Gamma::new(shape + 1.0, 1.0)?.sample(rng).ln() - size / shape)
}

/// Divides gammas by their sum.
fn normalise(record: &mut [f64]) {
    let total: f64 = record.iter().sum();
    record.iter_mut().for_each(|x| *x = (*x / total).max(f64::MIN_POSITIVE));
}

impl Dirichlet {
    fn log_sums(&self, records: &[f64]) -> Vec<f64> {
        let d = self.priors.len();
        (0..d).map(|k| log_sum(records.iter().skip(k).step_by(d).copied())).collect()
    }

    /// The conditional of theta given records with these sums of logarithms.
    fn given<'a>(&'a self, records: &[f64], log_sums: &'a [f64]) -> DirichletConditional<'a> {
        let n = (records.len() / self.priors.len()) as f64;
        DirichletConditional { priors: &self.priors, n, log_sums }
    }
}

impl Model for Dirichlet {
    fn kind(&self) -> &'static str {
        "dirichlet"
    }

    fn record_dim(&self) -> usize {
        self.priors.len()
    }

    fn parameters(&self) -> Vec<String> {
        (1..=self.priors.len()).map(|k| format!("alpha{k}")).collect()
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        for (k, &alpha) in theta.iter().enumerate() {
            positive(&format!("alpha{}", k + 1), alpha)?;
        }
        Ok(())
    }

    fn supports(&self, record: &[f64]) -> bool {
        record.iter().all(|x| (0.0..=1.0).contains(x))
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        for (alpha, prior) in theta.iter_mut().zip(&self.priors) {
            *alpha = prior.sample(rng)?;
        }
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(theta.iter().zip(&self.priors).map(|(&alpha, prior)| prior.log_density(alpha)).sum())
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        sample_shares(theta, records, rng)
    }

    /// With respect to the first D - 1 shares.
    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let parts = theta.iter().zip(record);
        let logs: f64 = parts.map(|(alpha, x)| (alpha - 1.0) * x.ln() - ln_gamma(*alpha)).sum();
        Ok(ln_gamma(theta.iter().sum()) + logs)
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        let constant = |theta: &[f64]| {
            ln_gamma(theta.iter().sum()) - theta.iter().map(|&alpha| ln_gamma(alpha)).sum::<f64>()
        };
        let constant = constant(to) - constant(from);
        for (ratio, record) in ratios.iter_mut().zip(records.chunks_exact(self.record_dim())) {
            let parts = record.iter().zip(from).zip(to);
            *ratio = constant + parts.map(|((x, a), b)| (b - a) * x.ln()).sum::<f64>();
        }
        Ok(())
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        self.given(records, &self.log_sums(records)).update(theta, rng)
    }

    /// A draw from the normal approximation given a quarter of the records that the release is
    /// worth, with the released mean logarithms, or those derived from its moments.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let means = release.plausible_means();
        let mut logs = if release.query().coordinate_map() == Some(CoordinateMap::Log) {
            means
        } else if let Some(moments) = release.query().moments(&means) {
            let variances = moments.covariance.map(|c| c.diagonal().as_slice().to_vec());
            mean_logs(&moments.mean, variances.as_deref())
        } else {
            return self.sample_prior(theta, rng);
        };
        bring_within_reach(&mut logs);
        let n = 0.25 * release.worth();
        let log_sums: Vec<f64> = logs.iter().map(|log| n * log).collect();
        DirichletConditional { priors: &self.priors, n, log_sums: &log_sums }
            .sample_approximation(theta, rng)
    }

    fn recipe(&self) -> Option<Recipe> {
        let priors = self.priors.iter().map(|&GammaPrior { shape, rate }| (shape, rate)).collect();
        Some(Recipe::Dirichlet { priors })
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        match release.query().coordinate_map() {
            Some(CoordinateMap::Log) => {
                plug_in::dirichlet(&release.stated_means(), release.n() as f64)
            }
            _ => PlugInFit::Unknown,
        }
    }

    fn price(&self, n: usize) -> Price {
        let [build, inverse] = BetaTable::costs(n);
        let (shares, stages) = (self.priors.len() as f64, (self.priors.len() - 1) as f64);
        Price {
            draw: 1.2 * shares,
            update: (0.4 + 240.0 / n as f64) * shares,
            build: build * stages,
            inverse: inverse * stages,
        }
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }
}

/// Mean logarithms of shares from their means and variances, by a Dirichlet with these moments (or
/// the variance of a flat one, if variances are unknown).
pub(super) fn mean_logs(means: &[f64], variances: Option<&[f64]>) -> Vec<f64> {
    let sum: f64 = means.iter().map(|mean| mean.max(1e-3)).sum();
    let shares: Vec<f64> = means.iter().map(|mean| mean.max(1e-3) / sum).collect();
    let total = variances.map_or(shares.len() as f64, |variances| {
        let binomial: f64 = shares.iter().map(|share| share * (1.0 - share)).sum();
        (binomial / variances.iter().sum::<f64>().max(1e-4 * binomial) - 1.0).clamp(0.5, 1e3)
    });
    shares.iter().map(|share| digamma(share * total) - digamma(total)).collect()
}

/// Lowers all mean logarithms by a constant until a composition can have them: the geometric means
/// of shares sum to less than one.
pub(super) fn bring_within_reach(logs: &mut [f64]) {
    let sum: f64 = logs.iter().map(|log| log.exp()).sum();
    let excess = (sum / 0.99).ln().max(0.0);
    logs.iter_mut().for_each(|log| *log -= excess);
}

/// Stick-breaking: x_k is the rest after x_1, ..., x_k-1 times the beta quantile of Phi(e_k). The
/// unconstrained theta is log alpha.
impl Transport for Dirichlet {
    fn noise_dim(&self) -> usize {
        self.priors.len() - 1
    }

    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        free.iter_mut().zip(theta).for_each(|(free, alpha)| *free = alpha.ln());
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        theta.iter_mut().zip(free).for_each(|(alpha, free)| *alpha = free.exp());
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        free.iter().zip(&self.priors).map(|(&free, prior)| prior.log_density_free(free)).sum()
    }

    fn rows_at_once(&self) -> usize {
        TABLE_ROWS
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        let stages = Dirichlet::stages(theta);
        let d = theta.len();
        for (record, row) in records.chunks_exact_mut(d).zip(noise.chunks_exact(d - 1)) {
            interrupt::check()?;
            let mut rest = 1.0;
            for ((x, e), stage) in record.iter_mut().zip(row).zip(&stages) {
                // Both parts from the smaller odds, to avoid cancellation.
                let u = stage.logit(*e);
                let odds = (-u.abs()).exp();
                let (large, small) = (1.0 / (1.0 + odds), odds / (1.0 + odds));
                let (part, other) = if u < 0.0 { (small, large) } else { (large, small) };
                *x = (rest * part).max(f64::MIN_POSITIVE);
                rest *= other;
            }
            record[d - 1] = rest.max(f64::MIN_POSITIVE);
        }
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        let stages = Dirichlet::stages(theta);
        let d = theta.len();
        for (record, row) in records.chunks_exact(d).zip(noise.chunks_exact_mut(d - 1)) {
            interrupt::check()?;
            let mut rest = record[d - 1];
            for k in (0..d - 1).rev() {
                row[k] = stages[k].normal((record[k] / rest).ln());
                rest += record[k];
            }
        }
        Ok(())
    }
}

impl CoupledUpdate for Dirichlet {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        let sums = records.map(|records| self.log_sums(records));
        let laws = [0, 1].map(|side| self.given(records[side], &sums[side]));
        update_pair([&laws[0], &laws[1]], theta, rng)
    }
}
