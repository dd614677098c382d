//! theta, the frame and the pattern of the noise: everything at once.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::chart::{Local, draw_variances, log_gaussian, normals};
use super::frame::Frame;
use super::sums::{Scratch, Sums};
use super::trial::Trial;
use super::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::rng::Rng;

/// Proposes a fresh pattern, theta given the pattern, and the frame given both.
///
/// In the coordinates (theta, frame, pattern) the joint posterior is
/// p(theta) p(frame) p(pattern) eta(s_dp | S), see [frame](super::frame), and with the variances v
/// of the noise's scale mixture drawn given the residual, eta is Gaussian given v. The proposal
/// draws the pattern z' from its law, theta' from a law q(theta | z', v) and the frame from a law
/// q(frame | theta', z', v), all functions of what is conditioned on and of frozen constants, but
/// not of the present state. So the ratio is w(new) / w(old) with
///
/// w = p(theta) p(frame) eta(s_dp | S, v) / (q(theta | z, v) q(frame | theta, z, v)),
///
/// the law of the pattern having cancelled: an independence sampler, whose draws are as good as
/// its q. q(theta) is a Student law around the mode on the [chart](super::chart), whose tails keep
/// w bounded where the posterior's are nearly Gaussian; q(frame) is Gaussian around the mode given
/// theta, found with one evaluation of the residual itself, so that it follows the bend of the
/// surface on which the sums agree with the release. That is what a sharp release needs.
///
/// A proposal costs about ten passes over the records, and 2 (D + dim(theta)) more where the
/// chart's slope is computed for each pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refresh {
    own_slope: bool,
    #[serde(skip)]
    memory: Memory,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    pattern: Vec<f64>,
    fresh: Vec<f64>,
    noise: Vec<f64>,
    scratch: Scratch,
    trial: Trial,
}

/// The degrees of freedom of the Student law that theta is proposed from.
const FREEDOM: f64 = 8.0;

impl Refresh {
    pub(super) fn new(own_slope: bool) -> Self {
        Refresh { own_slope, memory: Memory::default() }
    }
}

impl ThetaMove for Refresh {
    fn step(&mut self, at: &Setting, state: &mut State, rng: &mut Rng) -> Outcome<Tally> {
        let (Some(sums), Some(chart)) = (&at.sums, at.chart) else { return Ok(Tally::default()) };
        let Memory { pattern, fresh, noise, scratch, trial } = &mut self.memory;
        let passes = 8 + 2 * sums.passes(self.own_slope);
        let algebra = (20 * sums.k * sums.dim() * sums.dim() / 50) as u64;
        let mut tally = Tally { proposed: 1, accepted: 0, work: passes * sums.n as u64 + algebra };
        let Some(point) = sums.split(state, pattern)? else { return Ok(tally) };
        fresh.resize(pattern.len(), 0.0);
        fresh.iter_mut().for_each(|e| *e = rng.sample(StandardNormal));
        if Frame::split(fresh, sums.d).is_none() {
            return Ok(tally);
        }
        let variances = draw_variances(at.shape(), state.records.residual(), rng);
        let (Some(here), Some(there)) = (
            chart.at(sums, pattern, self.own_slope, scratch)?,
            chart.at(sums, fresh, self.own_slope, scratch)?,
        ) else {
            return Ok(tally);
        };
        let Some(old) = weight(&here, sums, &point, &variances, pattern, scratch)? else {
            return Ok(tally);
        };
        let old = old + log_gaussian(state.records.residual(), &variances);
        let Some((next, new)) = propose(&there, sums, &variances, fresh, scratch, rng)? else {
            return Ok(tally);
        };
        let mut theta = state.theta.clone();
        trial.build(at.problem, &state.records, |records| {
            sums.join(next.as_slice(), fresh, &mut theta, noise, records)
        })?;
        let new = new + log_gaussian(trial.residual(), &variances);
        if rng.random::<f64>().ln() < new - old {
            trial.take(&mut state.records);
            state.theta = theta;
            tally.accepted = 1;
        }
        Ok(tally)
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }
}

/// Draws theta and the frame, and returns the point with log p(theta) p(frame) / q there.
fn propose(
    local: &Local,
    sums: &Sums,
    variances: &DVector<f64>,
    pattern: &[f64],
    scratch: &mut Scratch,
    rng: &mut Rng,
) -> Outcome<Option<(DVector<f64>, f64)>> {
    let Some((mode, factor)) = local.theta_law(sums, variances) else { return Ok(None) };
    let chi: f64 = rng.sample(rand_distr::ChiSquared::new(FREEDOM)?);
    let standard = normals(sums.p, rng) * (FREEDOM / chi).sqrt();
    let free = mode + &factor * &standard;
    if !sums.log_prior_theta(free.as_slice()).is_finite() {
        return Ok(None);
    }
    let law = local.frame_law(sums, free.as_slice(), variances, pattern, scratch)?;
    let Some((centre, lower)) = law else { return Ok(None) };
    let whitened = normals(centre.len(), rng);
    let Some(gap) = lower.tr_solve_lower_triangular(&whitened) else { return Ok(None) };
    let frame = centre + gap;
    let values = free.iter().chain(frame.iter()).copied();
    let point = DVector::from_iterator(sums.dim(), values);
    let log_q = log_student(&standard, &factor) + log_normal(&whitened, &lower);
    let log_p = sums.log_prior(point.as_slice());
    Ok(log_p.is_finite().then_some((point, log_p - log_q)))
}

/// log p(theta) p(frame) / q at a point.
fn weight(
    local: &Local,
    sums: &Sums,
    point: &DVector<f64>,
    variances: &DVector<f64>,
    pattern: &[f64],
    scratch: &mut Scratch,
) -> Outcome<Option<f64>> {
    let Some((mode, factor)) = local.theta_law(sums, variances) else { return Ok(None) };
    let free = point.rows(0, sums.p);
    let Some(standard) = factor.solve_lower_triangular(&(free - mode)) else { return Ok(None) };
    let free = &point.as_slice()[..sums.p];
    let law = local.frame_law(sums, free, variances, pattern, scratch)?;
    let Some((centre, lower)) = law else { return Ok(None) };
    let frame = point.rows(sums.p, centre.len());
    let whitened = lower.tr_mul(&(frame - centre));
    let log_q = log_student(&standard, &factor) + log_normal(&whitened, &lower);
    Ok(Some(sums.log_prior(point.as_slice()) - log_q))
}

/// The log density, up to a constant, of a Student vector: `standard` is its whitened value,
/// `factor` the Cholesky factor of its scale.
fn log_student(standard: &DVector<f64>, factor: &DMatrix<f64>) -> f64 {
    let exponent = 0.5 * (FREEDOM + standard.len() as f64);
    -exponent * (standard.norm_squared() / FREEDOM).ln_1p() - log_diagonal(factor)
}

/// The log density, up to a constant, of a normal vector: `whitened` is its whitened value,
/// `lower` the Cholesky factor of its precision.
fn log_normal(whitened: &DVector<f64>, lower: &DMatrix<f64>) -> f64 {
    log_diagonal(lower) - 0.5 * whitened.norm_squared()
}

fn log_diagonal(triangle: &DMatrix<f64>) -> f64 {
    triangle.diagonal().iter().map(|x| x.ln()).sum()
}
