//! Post-processing of a noisy answer: noise on a lattice, rounding, clamping, suppression.

mod processed;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use processed::Processed;

use super::Noise;
use crate::error::{Invalid, interval, positive};
use crate::release::potential::{Block, Coordinate};
use crate::rng::Rng;

/// The post-processing from a noisy answer to the published value: lattice, rounding, then
/// clamping.
///
/// A value suppressed because it is at most a threshold is equivalent to clamping from below at the
/// threshold: in both cases the noisy answer is at most the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Publishing {
    /// The width g of the lattice of discrete noise, if it is not 1: the published value is g
    /// (floor(x / g + 1/2) + Z), with integer noise Z of scale / g.
    pub granularity: Option<f64>,
    /// Bounds of continuous noise on a bounded domain: the noise is redrawn until the noisy answer
    /// is within them.
    pub within: Option<(f64, f64)>,
    /// Rounded to the nearest multiple of this.
    pub rounding: Option<f64>,
    /// The lower clamp; minus infinity if none.
    pub low: f64,
    /// The upper clamp; infinity if none.
    pub high: f64,
}

impl Default for Publishing {
    /// No post-processing.
    fn default() -> Self {
        Publishing {
            granularity: None,
            within: None,
            rounding: None,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        }
    }
}

impl Publishing {
    /// Whether this is valid for `noise`.
    pub(crate) fn check(&self, noise: Noise) -> Result<(), Invalid> {
        if let Some(granularity) = self.granularity {
            positive("granularity", granularity)?;
            if !noise.is_discrete() {
                return Err(Invalid::new(
                    "granularity",
                    format!("{} noise has no lattice", noise.name()),
                    granularity,
                    format!(
                        "{} noise; or round = ..., if the published value was rounded",
                        Noise::any_discrete()
                    ),
                ));
            }
        }
        if let Some(range) = self.within {
            interval("within", range)?;
            if noise.is_discrete() || self.rounding.is_some() {
                return Err(Invalid::new(
                    "within",
                    "is for continuous noise whose values were published as they are",
                    format!("[{}, {}]", range.0, range.1),
                    format!("{} noise, without round", Noise::any_continuous()),
                ));
            }
        }
        if let Some(rounding) = self.rounding {
            positive("round", rounding)?;
            if noise.is_discrete() {
                return Err(Invalid::new(
                    "round",
                    format!("{} noise is already discrete", noise.name()),
                    rounding,
                    format!(
                        "{} noise with round = ...; or granularity = ... for noise on a lattice",
                        Noise::any_continuous()
                    ),
                ));
            }
        }
        if self.low.is_nan() || self.high.is_nan() || self.low >= self.high {
            return Err(Invalid::new(
                "clamp",
                "must be an interval",
                format!("[{}, {}]", self.low, self.high),
                "[low, high] with low < high",
            ));
        }
        Ok(())
    }

    /// Whether `value` can have been published.
    pub(crate) fn check_value(&self, value: f64) -> Result<(), Invalid> {
        let impossible =
            |problem: &str, allowed: String| Err(Invalid::new("value", problem, value, allowed));
        if value < self.low || value > self.high {
            let (low, high) = (self.low, self.high);
            return impossible(
                "no value is published outside the clamp",
                format!("a number from {low} to {high}; or another clamp"),
            );
        }
        if let Some((low, high)) =
            self.within.filter(|(low, high)| !(*low..=*high).contains(&value))
        {
            return impossible(
                "no noisy answer is outside the bounded domain",
                format!("a number from {low} to {high}; or another within"),
            );
        }
        // Decimals of the published value may have been cut off.
        let is_end = value == self.low || value == self.high;
        let is_off = |width: &f64| {
            let nearest = (value / width).round() * width;
            !is_end && (value - nearest).abs() > 1e-6 * value.abs().max(*width)
        };
        if let Some(width) = self.granularity.filter(is_off) {
            let nearest = (value / width).round() * width;
            return impossible(
                "the noise is on a lattice, and the value is not",
                format!("a multiple of granularity = {width}, such as {nearest}"),
            );
        }
        if let Some(width) = self.rounding.filter(is_off) {
            let nearest = (value / width).round() * width;
            return impossible(
                "the value is not rounded",
                format!("a multiple of round = {width}, such as {nearest}"),
            );
        }
        Ok(())
    }

    /// Whether there is no post-processing.
    pub fn is_plain(&self) -> bool {
        *self == Publishing::default()
    }

    /// Whether a value between the ends of the clamp is published as it is.
    pub fn is_clamp(&self) -> bool {
        *self == Publishing { low: self.low, high: self.high, ..Publishing::default() }
    }

    /// The normalised log density of `published`; log probability if it is discrete.
    pub(crate) fn log_density(&self, noise: Noise, scale: f64, published: f64, truth: f64) -> f64 {
        if published <= self.low {
            return self.log_below(noise, scale, self.low, truth);
        }
        if published >= self.high {
            return self.log_above(noise, scale, self.high, truth);
        }
        let law = noise.law();
        if noise.is_discrete() {
            let g = self.granularity.unwrap_or(1.0);
            return law.log_density(scale / g, on_lattice(published, g), on_lattice(truth, g));
        }
        if let Some((low, high)) = self.within {
            let possible = log_between(noise, scale, low - truth, high - truth);
            return law.log_density(scale, published, truth) - possible;
        }
        match self.rounding {
            None => law.log_density(scale, published, truth),
            Some(width) => {
                let z = published - truth;
                log_between(noise, scale, z - 0.5 * width, z + 0.5 * width)
            }
        }
    }

    /// By how much a true answer that moves by `moved` may become likelier to keep its noise within
    /// the bounds, as a logarithm: from an end inwards, where it moves most.
    pub(crate) fn gain_within(
        noise: Noise,
        scale: f64,
        moved: f64,
        (low, high): (f64, f64),
    ) -> f64 {
        let stays = |truth: f64| log_between(noise, scale, low - truth, high - truth);
        stays((low + moved).min(high)) - stays(low)
    }

    /// log P(Y <= bound) of the answer before clamping.
    fn log_below(&self, noise: Noise, scale: f64, bound: f64, truth: f64) -> f64 {
        let law = noise.law();
        if noise.is_discrete() {
            let g = self.granularity.unwrap_or(1.0);
            return law.log_at_most(scale / g, (bound / g).floor() - on_lattice(truth, g));
        }
        // A value that rounds to a multiple of w up to the bound is below it plus half a step.
        let edge = self.rounding.map_or(bound, |w| ((bound / w).floor() + 0.5) * w);
        law.log_at_most(scale, edge - truth)
    }

    /// log P(Y >= bound): by symmetry of the noise, P(-Y <= -bound).
    fn log_above(&self, noise: Noise, scale: f64, bound: f64, truth: f64) -> f64 {
        let law = noise.law();
        if noise.is_discrete() {
            let g = self.granularity.unwrap_or(1.0);
            return law.log_at_most(scale / g, on_lattice(truth, g) - (bound / g).ceil());
        }
        let edge = self.rounding.map_or(bound, |w| ((bound / w).ceil() - 0.5) * w);
        law.log_at_most(scale, truth - edge)
    }

    /// The largest log probability, over true answers from `low` to `high`, of a value at least as
    /// far from that interval as `published`, which is outside it.
    pub(crate) fn log_beyond(
        &self,
        noise: Noise,
        scale: f64,
        published: f64,
        (low, high): (f64, f64),
    ) -> f64 {
        if published > high {
            self.log_above(noise, scale, published, high)
        } else {
            self.log_below(noise, scale, published, low)
        }
    }

    /// The published value for the true answer `truth`, for simulation only.
    pub(crate) fn sample(&self, noise: Noise, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        let law = noise.law();
        if let Some((low, high)) = self.within {
            // The bounds contain the true value, or nearly: few tries are enough.
            let tries = (0..10_000).map(|_| law.sample(scale, truth, rng));
            let found = tries.into_iter().find(|noisy| (low..=high).contains(noisy));
            return found.unwrap_or(truth.clamp(low, high));
        }
        let noisy = match self.granularity {
            Some(g) => g * law.sample(scale / g, on_lattice(truth, g), rng),
            None => law.sample(scale, truth, rng),
        };
        let rounded = self.rounding.map_or(noisy, |w| (noisy / w).round() * w);
        rounded.clamp(self.low, self.high)
    }

    /// The potential of one coordinate of which `published` was released, as a block.
    pub(crate) fn block(&self, noise: Noise, scale: f64, published: f64) -> Block {
        if self.within.is_some() && !noise.law().keeps_its_mode_within_bounds() {
            return Block::Joint(1, Arc::new(Processed::new(*self, noise, scale, published)));
        }
        Block::Coordinate(self.coordinate(noise, scale, published))
    }

    /// The same as a coordinate.
    fn coordinate(&self, noise: Noise, scale: f64, published: f64) -> Coordinate {
        let is_shown = self.low < published && published < self.high;
        let is_plain = self.rounding.or(self.granularity).is_none() && self.within.is_none();
        if is_shown && is_plain {
            return noise.law().coordinate(scale, published);
        }
        Coordinate::Curve(Arc::new(Processed::new(*self, noise, scale, published)))
    }
}

/// The lattice point of a value, or the nearest one: halves round up.
fn on_lattice(value: f64, g: f64) -> f64 {
    (value / g + 0.5).floor()
}

/// log P(a <= noise <= b) for a < b, of continuous noise. By symmetry both ends are mapped to the
/// lower tail, to avoid cancellation.
fn log_between(noise: Noise, scale: f64, a: f64, b: f64) -> f64 {
    let law = noise.law();
    let (a, b) = if a + b > 0.0 { (-b, -a) } else { (a, b) };
    if b - a < 1e-5 * scale {
        return law.log_density(scale, 0.5 * (a + b), 0.0) + (b - a).ln();
    }
    let (below, above) = (law.log_at_most(scale, a), law.log_at_most(scale, b));
    if below == f64::NEG_INFINITY {
        return above;
    }
    above + (-(below - above).exp()).ln_1p()
}
