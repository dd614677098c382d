//! theta, the frame and the pattern of the noise: everything at once.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::chart::{Local, Work, draw_precisions, fill_normals, log_gaussian};
use super::dense;
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
    point: Vec<f64>,
    next: Vec<f64>,
    theta: Vec<f64>,
    precisions: Vec<f64>,
    work: Work,
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
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        let mut tally = Tally { proposed: times, accepted: 0, work: self.work(at, times) };
        for _ in 0..times {
            tally.accepted += self.propose(at, state, rng)?.is_some() as u64;
        }
        Ok(tally)
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let Some(sums) = &at.sums else { return 0 };
        let n = sums.n as f64;
        let passes = 7.0 * n + 2.0 * (sums.passes(self.own_slope) + sums.passes(false)) * n;
        let algebra = 30.0 * (sums.k * sums.dim() * sums.dim()) as f64 * PER_CHART + FIXED;
        times * (passes + algebra) as u64
    }
}

/// The price of a multiplication on the chart, and of what a proposal takes whatever the sizes
/// are, in passes over one record.
const PER_CHART: f64 = 0.05;
const FIXED: f64 = 300.0;

impl Refresh {
    /// One proposal; `None` where it was not taken.
    fn propose(&mut self, at: &Setting, state: &mut State, rng: &mut Rng) -> Outcome<Option<()>> {
        let (Some(sums), Some(chart)) = (&at.sums, at.chart) else { return Ok(None) };
        let Memory { pattern, fresh, point, next, theta, precisions, work, scratch, trial } =
            &mut self.memory;
        if !sums.split(state, pattern, scratch, point)? {
            return Ok(None);
        }
        fresh.resize(pattern.len(), 0.0);
        fill_normals(fresh, rng);
        if Frame::split(fresh, sums.d).is_none() {
            return Ok(None);
        }
        draw_precisions(at.shape(), state.records.residual(), precisions, rng);
        let (Some(here), Some(there)) = (
            chart.at(sums, pattern, self.own_slope, scratch)?,
            chart.at(sums, fresh, self.own_slope, scratch)?,
        ) else {
            return Ok(None);
        };
        let mut given = Given { sums, precisions, scratch, work };
        let Some(old) = given.weight(&here, pattern, point)? else { return Ok(None) };
        let old = old + log_gaussian(state.records.residual(), precisions);
        let Some(new) = given.draw(&there, fresh, next, rng)? else { return Ok(None) };
        theta.resize(sums.p, 0.0);
        trial.build(at.problem, &state.records, |records| {
            sums.join(next, fresh, scratch, theta, records)
        })?;
        let new = new + log_gaussian(trial.residual(), precisions);
        if rng.random::<f64>().ln() >= new - old {
            return Ok(None);
        }
        trial.take(&mut state.records);
        state.theta.copy_from_slice(theta);
        Ok(Some(()))
    }
}

/// What the laws of theta and the frame are conditioned on, beside the pattern.
struct Given<'a> {
    sums: &'a Sums<'a>,
    precisions: &'a [f64],
    scratch: &'a mut Scratch,
    work: &'a mut Work,
}

impl Given<'_> {
    /// Draws theta and the frame into `point`, and returns log p(theta) p(frame) / q there.
    fn draw(
        &mut self,
        local: &Local,
        pattern: &[f64],
        point: &mut Vec<f64>,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let Given { sums, precisions, scratch, work } = self;
        let p = sums.p;
        let Some(of_theta) = local.theta_law(sums, precisions, work) else { return Ok(None) };
        let chi: f64 = rng.sample(rand_distr::ChiSquared::new(FREEDOM)?);
        let mut standard = vec![0.0; p];
        fill_normals(&mut standard, rng);
        standard.iter_mut().for_each(|x| *x *= (FREEDOM / chi).sqrt());
        point.clear();
        let rows = of_theta.lower.chunks_exact(p).zip(&of_theta.centre);
        point.extend(rows.map(|(row, centre)| centre + dense::dot(row, &standard)));
        if !sums.log_prior_theta(point).is_finite() {
            return Ok(None);
        }
        let law = local.frame_law(sums, point, precisions, pattern, scratch, work)?;
        let Some(of_frame) = law else { return Ok(None) };
        let mut whitened = vec![0.0; of_frame.centre.len()];
        fill_normals(&mut whitened, rng);
        let log_q =
            log_student(&standard, &of_theta.lower) + log_normal(&whitened, &of_frame.lower);
        dense::solve_lower_transposed(&of_frame.lower, &mut whitened);
        point.extend(whitened.iter().zip(&of_frame.centre).map(|(gap, centre)| centre + gap));
        let log_p = sums.log_prior(point);
        Ok(log_p.is_finite().then_some(log_p - log_q))
    }

    /// log p(theta) p(frame) / q at a point.
    fn weight(&mut self, local: &Local, pattern: &[f64], point: &[f64]) -> Outcome<Option<f64>> {
        let Given { sums, precisions, scratch, work } = self;
        let Some(of_theta) = local.theta_law(sums, precisions, work) else { return Ok(None) };
        let (free, coordinates) = point.split_at(sums.p);
        let mut standard: Vec<f64> =
            free.iter().zip(&of_theta.centre).map(|(x, m)| x - m).collect();
        dense::solve_lower(&of_theta.lower, &mut standard);
        let law = local.frame_law(sums, free, precisions, pattern, scratch, work)?;
        let Some(of_frame) = law else { return Ok(None) };
        let gap: Vec<f64> = coordinates.iter().zip(&of_frame.centre).map(|(x, m)| x - m).collect();
        let mut whitened = vec![0.0; gap.len()];
        dense::times_lower_transposed(&of_frame.lower, &gap, &mut whitened);
        let log_q =
            log_student(&standard, &of_theta.lower) + log_normal(&whitened, &of_frame.lower);
        Ok(Some(sums.log_prior(point) - log_q))
    }
}

/// The log density, up to a constant, of a Student vector: `standard` is its whitened value,
/// `lower` the Cholesky factor of its scale.
fn log_student(standard: &[f64], lower: &[f64]) -> f64 {
    let exponent = 0.5 * (FREEDOM + standard.len() as f64);
    let square = dense::dot(standard, standard);
    -exponent * (square / FREEDOM).ln_1p() - dense::log_diagonal(lower, standard.len())
}

/// The log density, up to a constant, of a normal vector: `whitened` is its whitened value,
/// `lower` the Cholesky factor of its precision.
fn log_normal(whitened: &[f64], lower: &[f64]) -> f64 {
    dense::log_diagonal(lower, whitened.len()) - 0.5 * dense::dot(whitened, whitened)
}
