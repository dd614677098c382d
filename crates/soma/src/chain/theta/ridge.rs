//! theta along the ridge on which the records agree with a release of one number.

use rand::RngExt;
use rand_distr::{ChiSquared, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::surrogate::{Surrogate, fill_normals};
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::release::Potential;
use crate::release::potential::Coordinate;
use crate::rng::Rng;

/// Moves theta, holding all noise: all coordinates but one as far as the prior lets them, and that
/// one, the pivot, to where the release is matched again.
///
/// One released number pins down one combination of the parameters. Where that is known far more
/// closely than the parameters are, and the combination is no linear one, the posterior is a thin
/// and bent ridge: whatever goes straight on leaves it. In the coordinates (theta, e), e being the
/// noise of the records, the posterior is p(theta) p(e) eta(s_dp | S(theta, e)). Write theta as the
/// pivot c and the rest l. The proposal draws l' by a symmetric walk, or from a Student law whose
/// constants are frozen; finds by secants the *foot* at l', that is the c at which the residual is
/// zero and the width in which it changes by one noise unit; and draws c' from the noise's own law
/// (Laplace, where the noise is neither Laplace nor Gaussian) around it, q(c' | l', e) = g((c' - foot) / width) / width. The foot is a function of l', e and
/// frozen constants, but not of c, so that the ratio is that of
///
/// p(theta) eta(s_dp | S(theta, e)) / (q(c | l, e) q(l)),
///
/// q(l) being left out where l walks: Metropolis and Hastings' step on theta given e, which leaves
/// the posterior invariant. (1 / width is the derivative of S with respect to c, so that this is
/// where the Jacobian of the way along the ridge stands.) Nothing has to be solved exactly for
/// that: a foot that is off, or a residual that is not linear around it, costs acceptance and
/// nothing else. Where no foot is found, at l' or where the chain is, theta stays.
///
/// A proposal costs about six evaluations of the residual, and the pass to the coordinates is
/// shared with the Hamiltonian update and the independence update.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::chain) struct Ridge {
    #[serde(skip)]
    next: Vec<f64>,
}

/// Proposals in one step where a pass over the records is quick, so that most of their cost is in
/// the way to the coordinates, which they share; elsewhere there is one.
const QUICK_PROPOSALS: u64 = 4;

/// The share of proposals in which the others walk.
const WALKS: f64 = 0.5;

/// The length of a step of the walk is that of the others' standard deviations, times this over
/// the square root of their number.
const STRIDE: f64 = 2.4;

/// The degrees of freedom of the Student law that the others are proposed from otherwise.
const FREEDOM: f64 = 4.0;

/// How much wider than the noise the pivot's law is, so that no weight is large.
const WIDER: f64 = 1.1;

/// Secants at most, and the residual at which they end, in noise units.
const MOST_SECANTS: usize = 25;
const NEAR: f64 = 0.1;

/// How many times longer than the last a secant may reach.
const GROWTH: f64 = 10.0;

/// About how many evaluations of the residual a proposal takes.
pub(in crate::chain) const EVALUATIONS: f64 = 6.0;

impl Ridge {
    /// Whether there is a ridge: fewer statistics than parameters, so far one of them, and noise that
    /// falls off on both sides of the release.
    pub(in crate::chain) fn exists(sums: &Sums) -> bool {
        sums.k == 1 && sums.p > 1 && sums.precisions()[0] > 0.0
    }

    fn proposals(sums: &Sums, times: u64) -> u64 {
        if sums.has_quick_slopes() { QUICK_PROPOSALS * times } else { times }
    }
}

impl ThetaMove for Ridge {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        let (Some(sums), Some(surrogate)) = (&at.sums, at.surrogate) else {
            return Ok(Tally::default());
        };
        let proposed = Ridge::proposals(sums, times);
        let mut tally = Tally { proposed, accepted: 0, work: self.work(at, times) };
        let Some(course) = Course::new(sums, surrogate, at.potential()) else { return Ok(tally) };
        if !held.hold(sums, state, rng)? {
            return Ok(tally);
        }
        let next = &mut self.next;
        next.clone_from(&held.point);
        let Some(mut here) = course.foot(next, held)? else { return Ok(tally) };
        for _ in 0..proposed {
            if let Some(there) = course.propose(here, next, held, rng)? {
                here = there;
                tally.accepted += 1;
            }
        }
        if tally.accepted > 0 {
            held.moved();
        }
        Ok(tally)
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let feet = |sums: &Sums| 1 + Ridge::proposals(sums, times);
        at.sums.as_ref().map_or(0, |sums| sums.ridge(feet(sums)) as u64)
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }
}

/// Where the pivot is likely to be, given all else.
#[derive(Debug, Clone, Copy)]
struct Foot {
    centre: f64,
    width: f64,
}

/// What the proposals steer by: all of it frozen after warm-up.
struct Course<'a> {
    sums: &'a Sums<'a>,
    surrogate: &'a Surrogate,
    potential: &'a Potential,
    pivot: usize,
    /// The places of the others, and the lower Cholesky factor of their covariance.
    others: Vec<usize>,
    factor: Vec<f64>,
}

impl<'a> Course<'a> {
    fn new(sums: &'a Sums<'a>, surrogate: &'a Surrogate, potential: &'a Potential) -> Option<Self> {
        let (p, dim) = (sums.p, sums.dim());
        // The coordinate that the release tells most of, beside what its prior does.
        let told =
            |c: &usize| surrogate.slope[*c].abs() / surrogate.prior_precision[c * (dim + 1)].sqrt();
        let pivot = (0..p).max_by(|a, b| told(a).total_cmp(&told(b)))?;
        let others: Vec<usize> = (0..p).filter(|&c| c != pivot).collect();
        let m = others.len();
        let row = |c: usize| &surrogate.theta_spread[c * p..][..=c];
        let mut factor = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                factor[i * m + j] = dense::dot(row(others[i]), row(others[j]));
            }
        }
        cholesky::lower(&mut factor, m).then_some(Course {
            sums,
            surrogate,
            potential,
            pivot,
            others,
            factor,
        })
    }

    /// One proposal from where `held` is, whose foot is `here`. Returns the foot where it was
    /// taken to.
    fn propose(
        &self,
        here: Foot,
        next: &mut Vec<f64>,
        held: &mut Held,
        rng: &mut Rng,
    ) -> Outcome<Option<Foot>> {
        let pivot = self.pivot;
        let standard = (held.point[pivot] - here.centre) / here.width;
        let mut old = self.log_weight(&held.point, held.residual[0], standard, here);
        next.clone_from(&held.point);
        let walks = rng.random_bool(WALKS);
        if walks {
            self.walk(next, rng);
        } else {
            old -= self.log_student(next);
            self.draw(next, rng)?;
        }
        let Some(there) = self.foot(next, held)? else { return Ok(None) };
        let standard = self.sample(rng);
        next[pivot] = there.centre + there.width * standard;
        let mut residual = [0.0];
        if !self.sums.residual(next, &held.standardised, &mut held.scratch, &mut residual)? {
            return Ok(None);
        }
        let mut new = self.log_weight(next, residual[0], standard, there);
        if !walks {
            new -= self.log_student(next);
        }
        if !accepts(new - old, rng) {
            return Ok(None);
        }
        std::mem::swap(&mut held.point, next);
        held.residual.copy_from_slice(&residual);
        Ok(Some(there))
    }

    /// log p(theta) eta / q(c) at a point with this residual, whose pivot is at `standard` of its
    /// law.
    fn log_weight(&self, point: &[f64], residual: f64, standard: f64, foot: Foot) -> f64 {
        let log_eta = self.potential.log_density(&[residual]);
        let log_q = -self.pivot_law().cost(standard) - foot.width.ln();
        self.sums.log_prior_theta(&point[..self.sums.p]) + log_eta - log_q
    }

    /// The law that the pivot is drawn from: the noise's own where that is Laplace or Gaussian, and
    /// otherwise Laplace, whose tails no log-concave noise in units of its scale exceeds by much.
    fn pivot_law(&self) -> Coordinate {
        match self.potential.separate(0) {
            Some(Coordinate::L2) => Coordinate::L2,
            _ => Coordinate::L1,
        }
    }

    /// A draw of the pivot's law.
    fn sample(&self, rng: &mut Rng) -> f64 {
        match self.pivot_law() {
            Coordinate::L2 => rng.sample(StandardNormal),
            _ => {
                let size: f64 = rng.sample(Exp1);
                if rng.random() { size } else { -size }
            }
        }
    }

    fn walk(&self, point: &mut [f64], rng: &mut Rng) {
        let m = self.others.len();
        let mut step = vec![0.0; m];
        fill_normals(&mut step, rng);
        let stride = STRIDE / (m as f64).sqrt();
        for (row, &c) in self.factor.chunks_exact(m).zip(&self.others) {
            point[c] += stride * dense::dot(row, &step);
        }
    }

    /// Draws the others from their Student law.
    fn draw(&self, point: &mut [f64], rng: &mut Rng) -> Outcome {
        let m = self.others.len();
        let chi: f64 = rng.sample(ChiSquared::new(FREEDOM)?);
        let mut standard = vec![0.0; m];
        fill_normals(&mut standard, rng);
        standard.iter_mut().for_each(|x| *x *= (FREEDOM / chi).sqrt());
        for (row, &c) in self.factor.chunks_exact(m).zip(&self.others) {
            point[c] = self.surrogate.reference[c] + dense::dot(row, &standard);
        }
        Ok(())
    }

    /// The log density of that law, up to a constant.
    fn log_student(&self, point: &[f64]) -> f64 {
        let gaps = self.others.iter().map(|&c| point[c] - self.surrogate.reference[c]);
        let mut standard: Vec<f64> = gaps.collect();
        cholesky::solve_lower(&self.factor, &mut standard);
        let exponent = 0.5 * (FREEDOM + standard.len() as f64);
        -exponent * (dense::dot(&standard, &standard) / FREEDOM).ln_1p()
    }

    /// The foot at the noise that is held and at the others of `point`, whose pivot is not read
    /// and is changed. `None` where there is none.
    fn foot(&self, point: &mut [f64], held: &mut Held) -> Outcome<Option<Foot>> {
        let Held { standardised, scratch, .. } = held;
        let pivot = self.pivot;
        let mut residual = |c: f64| -> Outcome<f64> {
            point[pivot] = c;
            let mut residual = [0.0];
            let exists = self.sums.residual(point, standardised, scratch, &mut residual)?;
            Ok(if exists { residual[0] } else { f64::NAN })
        };
        let from = self.surrogate.reference[pivot];
        let Some((root, slope)) = secants(from, self.surrogate.slope[pivot], &mut residual)? else {
            return Ok(None);
        };
        // The slope over the noise's own width.
        let unit = 1.0 / slope.abs();
        let (above, below) = (residual(root + unit)?, residual(root - unit)?);
        let slope = (above - below) / (2.0 * unit);
        let width = WIDER / slope.abs();
        let centre = root - 0.5 * (above + below) / slope;
        Ok((width.is_finite() && centre.is_finite()).then_some(Foot { centre, width }))
    }
}

/// Where a function is nearly zero, and its slope there: by secants, which are halved instead where
/// they leave what is known to hold the zero. A function of where it begins, and of nothing else.
fn secants(
    from: f64,
    slope: f64,
    function: &mut impl FnMut(f64) -> Outcome<f64>,
) -> Outcome<Option<(f64, f64)>> {
    let (mut a, mut at_a) = (from, function(from)?);
    if at_a.abs() < NEAR {
        return Ok(Some((a, slope)));
    }
    let mut b = a - at_a / slope;
    // The last places where the function was negative, and where it was positive.
    let mut sides = [None, None];
    for _ in 0..MOST_SECANTS {
        sides[(at_a > 0.0) as usize] = Some(a);
        let at_b = function(b)?;
        let slope = (at_b - at_a) / (b - a);
        if at_b.abs() < NEAR {
            return Ok((slope != 0.0).then_some((b, slope)));
        }
        sides[(at_b > 0.0) as usize] = Some(b);
        let reach = GROWTH * (b - a).abs();
        // Where the function does not exist there is nothing to follow.
        if reach.is_nan() {
            return Ok(None);
        }
        let mut next = b - (at_b / slope).clamp(-reach, reach);
        if let [Some(low), Some(high)] = sides
            && ((next - low) * (next - high) >= 0.0 || slope == 0.0)
        {
            next = 0.5 * (low + high);
        } else if slope == 0.0 || !slope.is_finite() {
            return Ok(None);
        }
        (a, at_a, b) = (b, at_b, next);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secants_of_what_does_not_exist_find_nothing() {
        assert_eq!(secants(0.0, -1.0, &mut |_| Ok(f64::NAN)).unwrap(), None);
    }

    /// The zero of a function that is flat beyond its clamps, from wherever the secants begin; and
    /// none where there is none.
    #[test]
    fn secants_find_the_zero_of_a_clamped_function() {
        for zero in [-0.9_f64, 0.2, 0.95] {
            for from in [-0.99, 0.0, 0.3, 0.99] {
                for slope in [-30.0, -8.0] {
                    let mut function = |c: f64| {
                        let bent = |c: f64| c.clamp(-1.0, 1.0) + 0.3 * c.clamp(-1.0, 1.0).powi(3);
                        Ok(20.0 * (bent(zero) - bent(c)))
                    };
                    let (found, _) = secants(from, slope, &mut function).unwrap().unwrap();
                    assert!(function(found).unwrap().abs() < NEAR, "{zero} from {from}: {found}");
                }
            }
        }
        let none = secants(0.5, 1.0, &mut |c| Ok(1.0 + c * c)).unwrap();
        assert!(none.is_none());
    }
}
