//! theta, the Bartlett factors and the standardised noise: everything at once.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::coordinates::local::{Local, Work};
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::chain::theta::coordinates::surrogate::{Surrogate, fill_normals};
use crate::chain::theta::mixture::{draw_precisions, log_density_given};
use crate::chain::theta::tuning::prices::Part;
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::release::Potential;
use crate::rng::Rng;
use crate::stored::{Check, ensure};

/// Proposes fresh standardised noise, theta given the standardised noise, and the Bartlett factors
/// given both.
///
/// In the coordinates (theta, factors, standardised noise) the joint posterior is p(theta)
/// p(factors) p(noise) eta(s_dp | S), see [factors](crate::chain::theta::coordinates::bartlett),
/// and with the variances v of the noise's scale mixture drawn given the residual, eta is Gaussian
/// given v in all coordinates that are L1 or L2. (Others have no v, their exact cost in eta, and a
/// frozen precision in the laws below.) The proposal draws the standardised noise z' from its law, theta' from a law q(theta |
/// z', v) and the Bartlett factors from a law q(factors | theta', z', v), all functions of what is
/// conditioned on and of frozen constants, but not of the present state. So the ratio is w(new) /
/// w(old) with
///
/// w = p(theta) p(factors) eta(s_dp | S, v) / (q(theta | z, v) q(factors | theta, z, v)),
///
/// the law of the standardised noise having cancelled: an independence sampler, whose draws are as
/// good as its q. q(theta) is a Student law around the mode on the
/// [surrogate](crate::chain::theta::coordinates::surrogate), whose tails keep w bounded where the
/// posterior's are nearly Gaussian; q(factors) is Gaussian around the mode given theta, found with
/// one evaluation of the residual itself, so that it follows the bend of the surface on which the
/// sums agree with the release. That is what a sharp release needs.
///
/// Where the posterior of theta bends, that Student law may miss a part of it, and a chain that has
/// got there stays for long. So a share of the proposals draws theta by a random walk instead,
/// which is symmetric: w is then without q(theta | z, v). Which of the two a proposal is, is
/// decided by a coin, and the share is frozen after warm-up.
///
/// A proposal costs D n fresh normals and five evaluations of the residual, two of them with its
/// derivatives where the surrogate's slope is computed for each value of the standardised noise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct Independence {
    own_slope: bool,
    /// The share of proposals in which theta walks.
    walks: f64,
    #[serde(skip)]
    memory: Memory,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    fresh: Standardised,
    next: Vec<f64>,
    residual: Vec<f64>,
    precisions: Vec<f64>,
    work: Work,
}

/// The length of a step of the walk is that of theta's standard deviations, times this over the
/// square root of their number.
const STRIDE: f64 = 2.0;

/// The degrees of freedom of the Student law that theta is proposed from.
const FREEDOM: f64 = 8.0;

impl Independence {
    pub(in crate::chain) fn new(own_slope: bool) -> Self {
        Independence { own_slope, walks: 0.0, memory: Memory::default() }
    }

    pub(in crate::chain) fn check(&self) -> Check {
        ensure((0.0..=1.0).contains(&self.walks), "the share of walks is none")
    }

    /// Sets the share of proposals in which theta walks.
    pub(in crate::chain) fn walk(&mut self, share: f64) {
        self.walks = share;
    }
}

impl ThetaMove for Independence {
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
        if !held.hold(sums, state, rng)? {
            return Ok(tally);
        }
        for _ in 0..times {
            if self.propose(sums, surrogate, at.potential(), held, rng)?.is_some() {
                held.moved();
                tally.accepted += 1;
            }
        }
        Ok(tally)
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let Some(sums) = &at.sums else { return 0 };
        let of_surrogate = if self.own_slope { Part::Slope } else { Part::Residual };
        let passes = 2.0 * sums.pass(of_surrogate) + 3.0 * sums.pass(Part::Residual);
        times * (sums.refresh() + passes) as u64
    }
}

impl Independence {
    /// One proposal; `None` where it was not taken.
    fn propose(
        &mut self,
        sums: &Sums,
        surrogate: &Surrogate,
        potential: &Potential,
        held: &mut Held,
        rng: &mut Rng,
    ) -> Outcome<Option<()>> {
        let Memory { fresh, next, residual, precisions, work } = &mut self.memory;
        let Held { point, standardised, residual: current, scratch, .. } = held;
        fill_normals(fresh.columns_mut(sums.n, sums.d), rng);
        if !fresh.measure(sums.d) {
            return Ok(None);
        }
        draw_precisions(potential, current, precisions, rng);
        let (Some(here), Some(there)) = (
            surrogate.at(sums, standardised, self.own_slope, scratch)?,
            surrogate.at(sums, fresh, self.own_slope, scratch)?,
        ) else {
            return Ok(None);
        };
        let mut given = Given { sums, precisions, scratch, work };
        let walk = rng.random_bool(self.walks).then_some((point.as_slice(), surrogate));
        let Some(old) = given.weight(&here, standardised, point, walk.is_some())? else {
            return Ok(None);
        };
        let Some(new) = given.draw(&there, fresh, next, walk, rng)? else { return Ok(None) };
        residual.resize(sums.k, 0.0);
        if !sums.residual(next, fresh, scratch, residual)? {
            return Ok(None);
        }
        let old = old + log_density_given(potential, current, precisions);
        let new = new + log_density_given(potential, residual, precisions);
        if !accepts(new - old, rng) {
            return Ok(None);
        }
        std::mem::swap(standardised, fresh);
        std::mem::swap(point, next);
        std::mem::swap(current, residual);
        Ok(Some(()))
    }
}

/// What the laws of theta and the Bartlett factors are conditioned on, beside the standardised
/// noise.
struct Given<'a> {
    sums: &'a Sums<'a>,
    precisions: &'a [f64],
    scratch: &'a mut Scratch,
    work: &'a mut Work,
}

impl Given<'_> {
    /// Draws theta and the Bartlett factors into `point`, and returns log p(theta) p(factors) / q
    /// there. Where theta walks, it is from a point of a surrogate, and q is that of the Bartlett
    /// factors alone.
    fn draw(
        &mut self,
        local: &Local,
        standardised: &Standardised,
        point: &mut Vec<f64>,
        walk: Option<(&[f64], &Surrogate)>,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let log_q = match walk {
            Some((from, surrogate)) => {
                let mut step = vec![0.0; self.sums.p];
                fill_normals(&mut step, rng);
                let stride = STRIDE / (step.len() as f64).sqrt();
                point.clear();
                let rows = surrogate.theta_spread.chunks_exact(step.len()).zip(from).enumerate();
                point.extend(
                    rows.map(|(i, (row, x))| x + stride * dense::dot(&row[..=i], &step[..=i])),
                );
                0.0
            }
            None => match self.draw_theta(local, point, rng)? {
                Some(log_q) => log_q,
                None => return Ok(None),
            },
        };
        let Given { sums, precisions, scratch, work } = self;
        if !sums.log_prior_theta(point).is_finite() {
            return Ok(None);
        }
        let law = local.factors_law(sums, point, precisions, standardised, scratch, work)?;
        let Some(of_factors) = law else { return Ok(None) };
        let mut whitened = vec![0.0; of_factors.centre.len()];
        fill_normals(&mut whitened, rng);
        let log_q = log_q + log_normal(&whitened, &of_factors.factor);
        cholesky::solve_upper(&of_factors.factor, &mut whitened);
        point.extend(whitened.iter().zip(&of_factors.centre).map(|(gap, centre)| centre + gap));
        let log_p = sums.log_prior(point);
        Ok(log_p.is_finite().then_some(log_p - log_q))
    }

    /// Draws theta from its Student law, and returns log q(theta).
    fn draw_theta(
        &mut self,
        local: &Local,
        point: &mut Vec<f64>,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let Given { sums, precisions, work, .. } = self;
        let p = sums.p;
        let Some(of_theta) = local.theta_law(sums, precisions, work) else { return Ok(None) };
        let chi: f64 = rng.sample(rand_distr::ChiSquared::new(FREEDOM)?);
        let mut standard = vec![0.0; p];
        fill_normals(&mut standard, rng);
        standard.iter_mut().for_each(|x| *x *= (FREEDOM / chi).sqrt());
        point.clear();
        let rows = of_theta.factor.chunks_exact(p).zip(&of_theta.centre);
        point.extend(rows.map(|(row, centre)| centre + dense::dot(row, &standard)));
        Ok(Some(log_student(&standard, &of_theta.factor)))
    }

    /// log p(theta) p(factors) / q at a point; q is that of the Bartlett factors alone where theta
    /// walks.
    fn weight(
        &mut self,
        local: &Local,
        standardised: &Standardised,
        point: &[f64],
        walks: bool,
    ) -> Outcome<Option<f64>> {
        let Given { sums, precisions, scratch, work } = self;
        let (free, coordinates) = point.split_at(sums.p);
        let mut log_q = 0.0;
        if !walks {
            let Some(law) = local.theta_law(sums, precisions, work) else { return Ok(None) };
            let mut standard: Vec<f64> = free.iter().zip(&law.centre).map(|(x, m)| x - m).collect();
            cholesky::solve_lower(&law.factor, &mut standard);
            log_q += log_student(&standard, &law.factor);
        }
        let law = local.factors_law(sums, free, precisions, standardised, scratch, work)?;
        let Some(of_factors) = law else { return Ok(None) };
        let gap: Vec<f64> =
            coordinates.iter().zip(&of_factors.centre).map(|(x, m)| x - m).collect();
        let mut whitened = vec![0.0; gap.len()];
        cholesky::times_upper(&of_factors.factor, &gap, &mut whitened);
        log_q += log_normal(&whitened, &of_factors.factor);
        Ok(Some(sums.log_prior(point) - log_q))
    }
}

/// The log density, up to a constant, of a Student vector: `standard` is its whitened value,
/// `lower` the Cholesky factor of its scale.
fn log_student(standard: &[f64], lower: &[f64]) -> f64 {
    let exponent = 0.5 * (FREEDOM + standard.len() as f64);
    let square = dense::dot(standard, standard);
    -exponent * (square / FREEDOM).ln_1p() - cholesky::log_diagonal(lower, standard.len())
}

/// The log density, up to a constant, of a normal vector: `whitened` is its whitened value,
/// `upper` the upper factor of its precision.
fn log_normal(whitened: &[f64], upper: &[f64]) -> f64 {
    cholesky::log_diagonal(upper, whitened.len()) - 0.5 * dense::dot(whitened, whitened)
}
