//! Counts drawn from the prior, for calibration.

use rand::RngExt;
use rand_distr::{Distribution, Poisson};

use super::problem::CountProblem;
use super::redraw::add_multinomial;
use super::shares::{Shares, log_gamma_draw, sample_shares};
use super::state::State;
use crate::error::{Invalid, Outcome};
use crate::release::{SizePrior, Total};
use crate::rng::Rng;

/// A true state: theta and counts drawn from the prior.
#[derive(Debug, Clone)]
pub struct Truth {
    /// The true answer of each published number; of reports, the true count of each cell.
    pub sums: Vec<i64>,
    /// The parameters of the model; none for a Dirichlet prior.
    theta: Vec<f64>,
    /// What a draw holds of it, in the order of [`CountProblem::outputs`].
    pub values: Vec<f64>,
}

impl CountProblem {
    /// Draws n, theta and the counts from the prior. A flat prior of n is improper and cannot be
    /// drawn.
    pub fn simulate(&self, rng: &mut Rng) -> Outcome<Truth> {
        let n = draw_size(self.total(), rng)?;
        let cells = self.table().cells();
        let mut counts = vec![0; cells];
        let (mut theta, mut shares) = (Vec::new(), vec![0.0; cells]);
        match self.shares() {
            Shares::Dirichlet(alpha) => sample_shares(alpha, &counts, &mut shares, rng),
            Shares::Model(model) => {
                theta = vec![0.0; model.dim()];
                model.sample_prior(&mut theta, rng);
                match self.reports() {
                    Some(reports) => reports.truth().log_shares(&theta, &mut shares),
                    None => model.log_shares(&theta, &mut shares),
                }
                shares.iter_mut().for_each(|share| *share = share.exp());
            }
        }
        add_multinomial(n, &shares, &mut counts, rng);
        let mut state = State::new(self, counts, theta);
        if let Shares::Dirichlet(_) = self.shares() {
            state.shares = shares;
        }
        let values = self.output(&state);
        let sums = if self.reports().is_some() { state.counts } else { state.sums };
        Ok(Truth { values, sums, theta: state.theta })
    }

    /// The log density of what was published, given a truth: as a chain has it.
    pub fn log_density_of(&self, truth: &Truth) -> f64 {
        if let Some(synthetic) = self.synthetic() {
            return synthetic.log_density(&truth.sums);
        }
        match (self.reports(), self.shares()) {
            (Some(reports), Shares::Model(model)) => {
                let mut logs = vec![0.0; self.table().cells()];
                model.log_shares(&truth.theta, &mut logs);
                reports.log_density(&logs)
            }
            _ => self.log_density(&truth.sums),
        }
    }
}

/// A number of records drawn from its prior. A flat one has no draws.
pub(crate) fn draw_size(total: Total, rng: &mut Rng) -> Outcome<i64> {
    match total {
        Total::Known(n) => Ok(n),
        Total::Unknown(SizePrior::Uniform { low, high }) => Ok(rng.random_range(low..=high) as i64),
        Total::Unknown(SizePrior::Poisson { mean }) => poisson(mean, rng),
        Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
            poisson(log_gamma_draw(shape, rng).exp() / rate, rng)
        }
        Total::Unknown(SizePrior::Flat) => Err(no_draws().into()),
    }
}

/// The error for an improper prior of n.
pub(crate) fn no_draws() -> Invalid {
    Invalid::new(
        "n",
        "a flat prior of n cannot be simulated",
        "n = \"unknown\"",
        "n = { prior = \"poisson\", mean = ... } or { prior = \"poisson-gamma\", ... }",
    )
}

fn poisson(mean: f64, rng: &mut Rng) -> Outcome<i64> {
    if mean < f64::MIN_POSITIVE {
        return Ok(0);
    }
    let drawn: f64 = Poisson::new(mean)?.sample(rng);
    Ok((drawn as i64).min(Total::MOST))
}
