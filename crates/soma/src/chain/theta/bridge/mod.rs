//! The bridge update: theta and all records at once, with sums that end near the release.

mod density;
mod lattice;
mod particles;
pub(in crate::chain::theta) mod path;
mod shared;
mod walk;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use self::density::Density;
pub(in crate::chain) use self::lattice::all_candidates as candidates;
pub(in crate::chain) use self::particles::PARTICLES;
use self::path::{Law, Path};
pub(in crate::chain) use self::shared::SharedDensity;
use self::walk::Guide;
pub(in crate::chain) use self::walk::STEPS;
use crate::chain::Problem;
use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::surrogate::Surrogate;
use crate::chain::theta::coordinates::synthetic::Synthetic;
use crate::chain::theta::mixture::{draw_precisions, log_density_given};
use crate::chain::theta::proposed::Trial;
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::rng::{self, Rng};
use crate::stored::Check;

/// Draws theta from a walk on the synthetic posterior, and all records anew as a bridge to the
/// release: particle marginal Metropolis-Hastings with a guided proposal (Andrieu, Doucet and
/// Holenstein 2010; Whiteley and Lee 2014).
///
/// **The path.** Write x_i = T(theta, e_i) and let v be the precisions of the noise, drawn given
/// the residual, so that eta(s_dp | S, v) is Gaussian
/// ([mixture](crate::chain::theta::mixture)). Let h_i(s) be the density of
/// N(s_dp - s; (n - i) mu, (n - i) Sigma + V), with mu and Sigma the
/// [mean and covariance](Synthetic) of a record's statistics at theta: about how likely the release
/// is if the first i records sum to s. For i = 1 to n, M_i candidates for e_i are drawn, and one is
/// chosen with probability proportional to h_i. Since h_i is close to the optimal choice, nearly
/// every path ends at the release, also if the records jump.
///
/// **Validity.** The candidates are the points of a randomly shifted lattice. Each is standard
/// normal, and given one of them the others are known ([lattice](lattice::fill)). Let c_ij be the
/// candidates, b_i the index chosen, and
///
/// Z = eta(s_dp | S, v) / h_n(S) h_0(0) prod_i (mean_j h_i(S_(i-1) + t(c_ij)) / h_(i-1)(S_(i-1))),
///
/// S_i being the sum of the first i chosen. The density of theta, candidates and indices
///
/// p(theta) prod_i p(c_i) prod_i (h_i(S_i) / sum_j h_i(S_(i-1) + t(c_ij))) Z
///   = p(theta) prod_i (p(c_i) / M_i) eta(s_dp | S, v)
///
/// has the posterior of theta and the chosen records given v as its marginal, and given these the
/// index b_i is uniform and the lattice shifted accordingly. The update extends the state in this
/// way, in a random order of the records, and makes Metropolis-Hastings steps that propose theta'
/// by the walk and a fresh path. The walk is reversible with respect to p(theta) h_0(0), so the
/// acceptance ratio is that of Z / h_0(0): the product of the factors above, all close to 1.
///
/// With many records part of the walk's steps are drawn from a [density](Density) that is learned at
/// the start of warm-up, once for [all chains of a problem](SharedDensity). A poor normal approximation or a poor walk costs acceptance only. A proposal
/// costs about seven records built for each record of the release, and as many for the start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::chain) struct Bridge {
    /// Where theta is proposed, if it was learned.
    density: Option<Density>,
    #[serde(skip)]
    memory: Memory,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    synthetic: Synthetic,
    noise: Vec<f64>,
    shuffled: Vec<f64>,
    order: Vec<usize>,
    precisions: Vec<f64>,
    path: Path,
    trial: Trial,
}

impl Bridge {
    /// Whether it is tried: for models that may need it, unless it would take most of the warm-up.
    pub(in crate::chain) fn exists(sums: &Sums) -> bool {
        sums.model.may_bend() && sums.n <= MOST_RECORDS && sums.k <= MOST_STATISTICS
    }

    /// Whether a density of theta is learned.
    pub(in crate::chain) fn has_density(sums: &Sums) -> bool {
        sums.n >= LEAST_RECORDS && sums.p <= MOST_PARAMETERS
    }

    pub(in crate::chain) fn check(&self, problem: &Problem) -> Check {
        let p = problem.model().parameters().len();
        self.density.as_ref().map_or(Ok(()), |density| density.check(p))
    }

    /// Learns the density of theta, unless another chain of the problem has done so.
    pub(in crate::chain::theta) fn prepare(&mut self, sums: &Sums) -> Outcome {
        let synthetic = &mut self.memory.synthetic;
        self.density = sums.problem.shared_density().get_or_learn(|| {
            let draws = particles::draw(sums, synthetic, &mut rng::stream(0, 0))?;
            Ok(draws.and_then(|draws| Density::new(draws, sums.p)))
        })?;
        Ok(())
    }

    /// The walk of a proposal, by itself.
    #[cfg(test)]
    pub(in crate::chain::theta) fn guide<'a>(
        &'a self,
        sums: &'a Sums,
        surrogate: &'a Surrogate,
    ) -> Guide<'a> {
        Guide { sums, surrogate, density: self.density.as_ref() }
    }
}

/// Above this number of statistics the algebra of a candidate costs more than building it.
const MOST_STATISTICS: usize = 32;

/// With more records the proposals of the pilot alone take seconds.
const MOST_RECORDS: usize = 10_000;

/// With fewer records the posterior is wide, and a random walk finds its way; the density would
/// cost more than the rest of the warm-up.
const LEAST_RECORDS: usize = 100;

/// With more parameters the density estimate is too rough.
const MOST_PARAMETERS: usize = 12;

impl ThetaMove for Bridge {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        let mut tally = Tally { proposed: times, accepted: 0, work: self.work(at, times) };
        let (Some(sums), Some(surrogate)) = (&at.sums, at.surrogate) else { return Ok(tally) };
        held.let_go(at, state)?;
        let Some(mut current) = self.begin(at, sums, state, rng)? else { return Ok(tally) };
        for _ in 0..times {
            if let Some(next) = self.propose(at, sums, surrogate, state, current, rng)? {
                current = next;
                tally.accepted += 1;
            }
        }
        Ok(tally)
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        at.sums.as_ref().map_or(0, |sums| sums.bridge(times) as u64)
    }

    fn learn(&mut self, at: &Setting, _: &State, _: Tally, share: f64) -> Outcome {
        match &at.sums {
            Some(sums) if share == 0.0 && Bridge::has_density(sums) => self.prepare(sums),
            _ => Ok(()),
        }
    }
}

impl Bridge {
    /// Draws precisions and a path given the state, and returns the log of its factors.
    pub(in crate::chain::theta) fn begin(
        &mut self,
        at: &Setting,
        sums: &Sums,
        state: &State,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let Memory { synthetic, noise, shuffled, order, precisions, path, .. } = &mut self.memory;
        draw_precisions(at.potential(), state.records.residual(), precisions, rng);
        noise.resize(sums.n * sums.d, 0.0);
        sums.model.draw_noise(&state.theta, state.records.all(), noise, rng)?;
        order.clear();
        order.extend(0..sums.n);
        order.shuffle(rng);
        shuffled.clear();
        order.iter().for_each(|i| shuffled.extend_from_slice(&noise[i * sums.d..][..sums.d]));
        let free = unconstrained(sums, state);
        let Some(law) = Law::new(&free, sums, precisions, synthetic)? else { return Ok(None) };
        let factors = path.follow(Some(shuffled), sums, &law, rng)?;
        Ok(factors.map(|factors| factors + last_factor(at, path, precisions)))
    }

    /// One proposal. Returns the log of its factors if it was accepted.
    pub(in crate::chain::theta) fn propose(
        &mut self,
        at: &Setting,
        sums: &Sums,
        surrogate: &Surrogate,
        state: &mut State,
        current: f64,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let Memory { synthetic, precisions, path, trial, .. } = &mut self.memory;
        let mut free = unconstrained(sums, state);
        let guide = Guide { sums, surrogate, density: self.density.as_ref() };
        if !guide.walk(&mut free, precisions, synthetic, rng)? {
            return Ok(None);
        }
        let Some(law) = Law::new(&free, sums, precisions, synthetic)? else { return Ok(None) };
        let Some(factors) = path.follow(None, sums, &law, rng)? else { return Ok(None) };
        let next = factors + last_factor(at, path, precisions);
        if !accepts(next - current, rng) {
            return Ok(None);
        }
        let log_eta = trial.build(at.problem, &state.records, |records| {
            sums.model.forward(&law.theta, &path.noise, records)
        })?;
        if !log_eta.is_finite() {
            return Ok(None);
        }
        trial.take(&mut state.records);
        state.theta.copy_from_slice(&law.theta);
        Ok(Some(next))
    }
}

/// log eta(s_dp | S, v) / h_n(S): zero if all noise is Laplace or Gaussian.
fn last_factor(at: &Setting, path: &Path, precisions: &[f64]) -> f64 {
    log_density_given(at.potential(), &path.residual, precisions) - path.log_end()
}

fn unconstrained(sums: &Sums, state: &State) -> Vec<f64> {
    let mut free = vec![0.0; sums.p];
    sums.model.unconstrain(&state.theta, &mut free);
    free
}
