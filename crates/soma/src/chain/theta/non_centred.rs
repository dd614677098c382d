//! The non-centred update: theta given the noise of the records.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::chain::Problem;
use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::proposed::Trial;
use crate::chain::theta::tuning::moments::{Moments, factor};
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::{Invalid, Outcome, listed};
use crate::interrupt;
use crate::model::{Carry, Transport};
use crate::numeric::accept::accepts;
use crate::rng::Rng;
use crate::stored::{Check, ensure, finite};

/// Fixes the noise e of every record, proposes theta' by a random walk and rebuilds the records.
///
/// With x = T(theta, e), the joint posterior is p(theta) p(e) eta(s_dp | S(T(theta, e))) in the
/// coordinates (theta, e). A Metropolis step on theta with e fixed leaves it invariant: the random
/// walk is symmetric in its coordinates of theta, and p(e) cancels. The ratio is that of p(theta)
/// eta, with the prior density in the same coordinates. It mixes well if the privacy noise
/// dominates; alternated with the centred update it is interweaving in the sense of Yu and Meng
/// (2011). A proposal costs one pass over the records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct NonCentred {
    /// The lower Cholesky factor of the covariance of the random walk, without the scale.
    #[serde(with = "crate::stored::matrix")]
    factor: DMatrix<f64>,
    log_scale: f64,
    learned: Moments,
    /// The covariance before adaptation.
    #[serde(with = "crate::stored::matrix")]
    prior: DMatrix<f64>,
    #[serde(skip)]
    scratch: Scratch,
}

#[derive(Debug, Clone, Default)]
struct Scratch {
    trial: Trial,
    noise: Vec<f64>,
}

/// The target acceptance rate of the scale.
const ACCEPTANCE: f64 = 0.3;

/// The largest number of parameters with an adapted covariance: its factorisation is cubic in their
/// number, about a second for a thousand. With more, the covariance is that of the prior.
const MOST_LEARNED: usize = 1000;

/// Proposals per step. The noise is computed once for all of them.
const PROPOSALS: u64 = 4;

/// Proposals per step if a user's model moves up to [`RECORDS_BY_CALL`] records: the cost is then
/// per call rather than per record, and the rest of an iteration makes many calls too.
const PROPOSALS_BY_CALL: u64 = 16;
const RECORDS_BY_CALL: usize = 1000;

impl NonCentred {
    /// The update for `problem`, if its model can move records from one theta to another.
    pub(in crate::chain) fn new(problem: &Problem, rng: &mut Rng) -> Outcome<Option<Self>> {
        let Some(way) = Way::of(problem) else { return Ok(None) };
        let prior = prior_covariance(problem, &way, rng)?;
        let dim = prior.nrows();
        // The prior's covariance is diagonal.
        let factor = prior.map(f64::sqrt);
        let log_scale = (2.4 / (dim as f64).sqrt()).ln();
        let learned = Moments::new(dim);
        Ok(Some(NonCentred { factor, log_scale, learned, prior, scratch: Scratch::default() }))
    }

    pub(in crate::chain) fn check(&self, problem: &Problem) -> Check {
        ensure(Way::of(problem).is_some(), "the model has no way to hold the noise")?;
        let dim = problem.model().parameters().len();
        let is_square = [&self.factor, &self.prior].iter().all(|m| m.shape() == (dim, dim));
        ensure(is_square, "the covariance of the random walk has the wrong size")?;
        finite("the factor of the walk", dim * dim, self.factor.as_slice())?;
        finite("the prior of the walk", dim * dim, self.prior.as_slice())?;
        finite("the scale of the walk", 1, &[self.log_scale])?;
        self.learned.check(dim)
    }
}

impl ThetaMove for NonCentred {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        held.let_go(at, state)?;
        let problem = at.problem;
        let Some(way) = Way::of(problem) else { return Ok(Tally::default()) };
        let work = self.work(at, times);
        let Scratch { trial, noise } = &mut self.scratch;
        way.begin(state, noise, rng)?;
        let mut tally = Tally { work, ..Tally::default() };
        let mut free = DVector::from_vec(way.unconstrain(&state.theta));
        let potential = problem.release().potential();
        let mut current =
            way.log_prior_here(free.as_slice())? + potential.log_density(state.records.residual());
        for _ in 0..way.proposals(state.records.n()) * times {
            interrupt::check()?;
            tally.proposed += 1;
            let step = DVector::from_fn(free.len(), |_, _| rng.sample::<f64, _>(StandardNormal));
            let proposal = &free + &self.factor * step * self.log_scale.exp();
            let log_prior = way.log_prior(proposal.as_slice())?;
            if !log_prior.is_finite() {
                continue;
            }
            let theta = way.constrain(proposal.as_slice());
            let log_eta = trial.build(problem, &state.records, |records| {
                way.rebuild(&theta, state, noise, records)
            })?;
            let proposed = log_prior + log_eta;
            if accepts(proposed - current, rng) {
                trial.take(&mut state.records);
                (state.theta, free, current) = (theta, proposal, proposed);
                tally.accepted += 1;
            }
        }
        Ok(tally)
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let n = at.problem.release().n();
        let proposals = Way::of(at.problem).map_or(0, |way| way.proposals(n));
        let price = at.problem.model().price(n);
        let each = (price.build + 1.0) * (proposals * times) as f64 + price.inverse;
        (each * n as f64) as u64
    }

    fn learn(&mut self, at: &Setting, state: &State, last: Tally, share: f64) -> Outcome {
        let Some(way) = Way::of(at.problem) else { return Ok(()) };
        let rate = last.accepted as f64 / last.proposed.max(1) as f64;
        self.log_scale += (rate - ACCEPTANCE) * (1.0 - share).max(0.1);
        if state.theta.len() > MOST_LEARNED {
            return Ok(());
        }
        if self.learned.push(&DVector::from_vec(way.unconstrain(&state.theta)))
            && let Some(factor) = factor(self.learned.covariance(&self.prior))
        {
            self.factor = factor;
        }
        Ok(())
    }
}

/// How records follow theta: by their noise, or by the model's own map.
enum Way<'a> {
    Noise(&'a dyn Transport),
    Carried(&'a dyn Carry),
}

impl<'a> Way<'a> {
    fn of(problem: &'a Problem) -> Option<Self> {
        let model = problem.model();
        match model.transport() {
            Some(transport) => Some(Way::Noise(transport)),
            None => model.carry().map(Way::Carried),
        }
    }

    fn proposals(&self, n: usize) -> u64 {
        match self {
            Way::Carried(_) if n <= RECORDS_BY_CALL => PROPOSALS_BY_CALL,
            _ => PROPOSALS,
        }
    }

    fn unconstrain(&self, theta: &[f64]) -> Vec<f64> {
        let mut free = theta.to_vec();
        if let Way::Noise(model) = self {
            model.unconstrain(theta, &mut free);
        }
        free
    }

    fn constrain(&self, free: &[f64]) -> Vec<f64> {
        let mut theta = free.to_vec();
        if let Way::Noise(model) = self {
            model.constrain(free, &mut theta);
        }
        theta
    }

    fn log_prior(&self, free: &[f64]) -> Outcome<f64> {
        match self {
            Way::Noise(model) => Ok(model.log_prior_free(free)),
            Way::Carried(model) => model.log_prior(free),
        }
    }

    /// The log prior density at the current theta. A user's model may give -infinity there, and the
    /// results would then be meaningless.
    fn log_prior_here(&self, free: &[f64]) -> Outcome<f64> {
        let density = self.log_prior(free)?;
        if matches!(self, Way::Carried(_)) && !density.is_finite() {
            let theta: Vec<String> = free.iter().map(f64::to_string).collect();
            return Err(Box::new(Invalid::new(
                "model.log_prior",
                "the prior density is 0 at a theta that the model itself has drawn",
                format!("{density} at theta = [{}]", listed(&theta)),
                "a finite log density wherever the start and the update of theta may lead",
            )));
        }
        Ok(density)
    }

    /// Computes the noise of the records, if any.
    fn begin(&self, state: &State, noise: &mut Vec<f64>, rng: &mut Rng) -> Outcome {
        let Way::Noise(model) = self else { return Ok(()) };
        noise.resize(state.records.n() * model.noise_dim(), 0.0);
        model.draw_noise(&state.theta, state.records.all(), noise, rng)
    }

    /// The records of `state` moved to another theta.
    fn rebuild(&self, theta: &[f64], state: &State, noise: &[f64], records: &mut [f64]) -> Outcome {
        match self {
            Way::Noise(model) => model.forward(theta, noise, records),
            Way::Carried(model) => {
                model.carry_records(&state.theta, theta, state.records.all(), records)
            }
        }
    }
}

/// The diagonal of the prior covariance in the coordinates of the random walk, from prior draws:
/// the initial scales.
fn prior_covariance(problem: &Problem, way: &Way, rng: &mut Rng) -> Outcome<DMatrix<f64>> {
    const DRAWS: usize = 100;
    let dim = problem.model().parameters().len();
    let mut theta = vec![0.0; dim];
    let mut draws = vec![Vec::with_capacity(DRAWS); dim];
    for _ in 0..DRAWS {
        problem.model().sample_prior(&mut theta, rng)?;
        let free = way.unconstrain(&theta);
        draws.iter_mut().zip(free).for_each(|(column, value)| column.push(value));
    }
    // From quartiles, since a prior may have no variance.
    let variance = DVector::from_iterator(
        dim,
        draws.iter_mut().map(|column| {
            column.sort_unstable_by(f64::total_cmp);
            let spread = (column[3 * DRAWS / 4] - column[DRAWS / 4]) / 1.35;
            // A scale of 1 if the quartiles give none.
            if spread.is_finite() && spread > 0.0 { spread * spread } else { 1.0 }
        }),
    );
    Ok(DMatrix::from_diagonal(&variance))
}
