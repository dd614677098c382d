//! Long finite differences for records that jump.
//!
//! A discrete variable is a step function of theta and of its noise. Sums over many records are
//! nearly smooth, but a difference over a short step counts the few records that happen to jump in
//! it. If a fraction h of the records jump in a step, the relative error is about 1 / sqrt(n h),
//! and the bias of a central difference is of order h^2: a step of about half a standard deviation
//! of a record balances both. Derivatives are used for proposals only; the acceptance test uses the
//! exact residual.

use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{STEP, Scratch, Sums};

/// The step in the noise, in standard deviations.
const NOISE_STEP: f64 = 0.6;

/// The step in theta: it changes the log density of a record by about this much. For the mean of a
/// normal it is in standard deviations.
const THETA_STEP: f64 = 0.6;

/// The longest step in an unconstrained parameter, for parameters with little effect on the
/// records.
const LONGEST: f64 = 2.0;

/// The number of records from which the steps in theta are computed.
const SHOWN: usize = 256;

impl Sums<'_> {
    /// The full width of the differences in the noise.
    pub(in crate::chain) fn noise_step(&self) -> f64 {
        if self.jumps { NOISE_STEP } else { STEP }
    }

    /// Sets `nearby` and `steps` to long steps up and down from `free`.
    ///
    /// With g the derivative of a record's log density in a coordinate, E g^2 is the Fisher
    /// information of one record, and the step is a constant over its square root.
    pub(in crate::chain) fn set_long_steps(
        &self,
        free: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
    ) {
        let (p, rows) = (self.p, self.n.min(SHOWN));
        let Scratch { noise, records, map, theta, nearby, steps, .. } = scratch;
        noise.resize(noise.len().max(rows * self.d), 0.0);
        let mut shown = vec![0.0; rows * self.problem.release().query().record_dim()];
        let own = &mut noise[..rows * self.d];
        map.join(standardised.columns(), 0..rows, own);
        let is_shown = self.model.forward(theta, own, &mut shown).is_ok();
        records.clear();
        nearby.resize(2 * p * p, 0.0);
        steps.clear();
        let (mut moved, mut there) = (free.to_vec(), vec![0.0; p]);
        let mut ratios = vec![0.0; rows];
        for c in 0..p {
            moved[c] = free[c] + STEP;
            self.model.constrain(&moved, &mut there);
            let is_known =
                is_shown && self.model.log_ratios(theta, &there, &shown, &mut ratios).is_ok();
            let squares = ratios.iter().map(|r| r * r).sum::<f64>() / (rows as f64 * STEP * STEP);
            let step = match is_known && squares.is_finite() {
                true => (THETA_STEP / squares.sqrt()).clamp(STEP, LONGEST * width(free[c])),
                false => STEP,
            };
            moved[c] = free[c] + 0.5 * step;
            self.model.constrain(&moved, &mut nearby[c * p..][..p]);
            let above = moved[c];
            moved[c] = free[c] - 0.5 * step;
            self.model.constrain(&moved, &mut nearby[(p + c) * p..][..p]);
            steps.push(above - moved[c]);
            moved[c] = free[c];
        }
    }
}

/// The scale of a parameter, which may be in any unit.
fn width(x: f64) -> f64 {
    1.0 + x.abs()
}
