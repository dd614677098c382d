//! theta, the frame and the pattern of the noise: everything at once.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::chart::{Chart, fill_normals};
use super::held::Held;
use super::local::{Local, Work};
use super::mixture::{draw_precisions, log_gaussian};
use super::pattern::Pattern;
use super::prices::Part;
use super::sums::{Scratch, Sums};
use super::{Setting, State, Tally, ThetaMove, dense, upper};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::release::mechanism::Shape;
use crate::rng::Rng;
use crate::stored::{Check, ensure};

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
/// Where the posterior of theta bends, that Student law may miss a part of it, and a chain that has
/// got there stays for long. So a share of the proposals draws theta by a random walk instead, which
/// is symmetric: w is then without q(theta | z, v). Which of the two a proposal is, is decided by a
/// coin, and the share is frozen after warm-up.
///
/// A proposal costs D n fresh normals and five evaluations of the residual, two of them with its
/// derivatives where the chart's slope is computed for each pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Refresh {
    own_slope: bool,
    /// The share of proposals in which theta walks.
    walks: f64,
    #[serde(skip)]
    memory: Memory,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    fresh: Pattern,
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

impl Refresh {
    pub(super) fn new(own_slope: bool) -> Self {
        Refresh { own_slope, walks: 0.0, memory: Memory::default() }
    }

    pub(super) fn check(&self) -> Check {
        ensure((0.0..=1.0).contains(&self.walks), "the share of walks is none")
    }

    /// Sets the share of proposals in which theta walks.
    pub(super) fn walk(&mut self, share: f64) {
        self.walks = share;
    }
}

impl ThetaMove for Refresh {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        let mut tally = Tally { proposed: times, accepted: 0, work: self.work(at, times) };
        let (Some(sums), Some(chart)) = (&at.sums, at.chart) else { return Ok(tally) };
        if !held.hold(sums, state)? {
            return Ok(tally);
        }
        for _ in 0..times {
            if self.propose(sums, chart, at.shape(), held, rng)?.is_some() {
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
        let of_chart = if self.own_slope { Part::Slope } else { Part::Residual };
        let passes = 2.0 * sums.pass(of_chart) + 3.0 * sums.pass(Part::Residual);
        times * (sums.refresh() + passes) as u64
    }
}

impl Refresh {
    /// One proposal; `None` where it was not taken.
    fn propose(
        &mut self,
        sums: &Sums,
        chart: &Chart,
        shape: Shape,
        held: &mut Held,
        rng: &mut Rng,
    ) -> Outcome<Option<()>> {
        let Memory { fresh, next, residual, precisions, work } = &mut self.memory;
        let Held { point, pattern, residual: current, scratch, .. } = held;
        fill_normals(fresh.columns_mut(sums.n, sums.d), rng);
        if !fresh.measure(sums.d) {
            return Ok(None);
        }
        draw_precisions(shape, current, precisions, rng);
        let (Some(here), Some(there)) = (
            chart.at(sums, pattern, self.own_slope, scratch)?,
            chart.at(sums, fresh, self.own_slope, scratch)?,
        ) else {
            return Ok(None);
        };
        let mut given = Given { sums, precisions, scratch, work };
        let walk = rng.random_bool(self.walks).then_some((point.as_slice(), chart));
        let Some(old) = given.weight(&here, pattern, point, walk.is_some())? else {
            return Ok(None);
        };
        let Some(new) = given.draw(&there, fresh, next, walk, rng)? else { return Ok(None) };
        residual.resize(sums.k, 0.0);
        if !sums.residual(next, fresh, scratch, residual)? {
            return Ok(None);
        }
        let old = old + log_gaussian(current, precisions);
        let new = new + log_gaussian(residual, precisions);
        if !accepts(new - old, rng) {
            return Ok(None);
        }
        std::mem::swap(pattern, fresh);
        std::mem::swap(point, next);
        std::mem::swap(current, residual);
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
    /// Draws theta and the frame into `point`, and returns log p(theta) p(frame) / q there. Where
    /// theta walks, it is from a point of a chart, and q is that of the frame alone.
    fn draw(
        &mut self,
        local: &Local,
        pattern: &Pattern,
        point: &mut Vec<f64>,
        walk: Option<(&[f64], &Chart)>,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let log_q = match walk {
            Some((from, chart)) => {
                let mut step = vec![0.0; self.sums.p];
                fill_normals(&mut step, rng);
                let stride = STRIDE / (step.len() as f64).sqrt();
                point.clear();
                let rows = chart.theta_spread.chunks_exact(step.len()).zip(from).enumerate();
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
        let law = local.frame_law(sums, point, precisions, pattern, scratch, work)?;
        let Some(of_frame) = law else { return Ok(None) };
        let mut whitened = vec![0.0; of_frame.centre.len()];
        fill_normals(&mut whitened, rng);
        let log_q = log_q + log_normal(&whitened, &of_frame.factor);
        upper::solve(&of_frame.factor, &mut whitened);
        point.extend(whitened.iter().zip(&of_frame.centre).map(|(gap, centre)| centre + gap));
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

    /// log p(theta) p(frame) / q at a point; q is that of the frame alone where theta walks.
    fn weight(
        &mut self,
        local: &Local,
        pattern: &Pattern,
        point: &[f64],
        walks: bool,
    ) -> Outcome<Option<f64>> {
        let Given { sums, precisions, scratch, work } = self;
        let (free, coordinates) = point.split_at(sums.p);
        let mut log_q = 0.0;
        if !walks {
            let Some(law) = local.theta_law(sums, precisions, work) else { return Ok(None) };
            let mut standard: Vec<f64> = free.iter().zip(&law.centre).map(|(x, m)| x - m).collect();
            dense::solve_lower(&law.factor, &mut standard);
            log_q += log_student(&standard, &law.factor);
        }
        let law = local.frame_law(sums, free, precisions, pattern, scratch, work)?;
        let Some(of_frame) = law else { return Ok(None) };
        let gap: Vec<f64> = coordinates.iter().zip(&of_frame.centre).map(|(x, m)| x - m).collect();
        let mut whitened = vec![0.0; gap.len()];
        upper::times(&of_frame.factor, &gap, &mut whitened);
        log_q += log_normal(&whitened, &of_frame.factor);
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
/// `upper` the upper factor of its precision.
fn log_normal(whitened: &[f64], upper: &[f64]) -> f64 {
    dense::log_diagonal(upper, whitened.len()) - 0.5 * dense::dot(whitened, whitened)
}
