//! Post-processing of a noisy answer: noise on a lattice, rounding, clamping, suppression.

use std::sync::Arc;

use super::Noise;
use crate::error::{Invalid, interval, positive};
use crate::release::potential::{Block, Coordinate, Curve, Joint};
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

/// Minus the log density as a function of the residual (published minus true value) / scale. It is
/// unimodal: the noise is log-concave, and the lattice and the clamp preserve that.
#[derive(Debug)]
struct Processed {
    publishing: Publishing,
    noise: Noise,
    scale: f64,
    published: f64,
    /// For discrete noise at an end of the clamp: the costs at true answers -T, ..., T lattice
    /// steps away, since the tail probabilities of some distributions are long sums.
    costs: Vec<f64>,
}

/// The largest number of tabulated steps to either side.
const MOST_COSTS: f64 = 10_000.0;

impl Processed {
    fn new(publishing: Publishing, noise: Noise, scale: f64, published: f64) -> Self {
        let mut curve = Processed { publishing, noise, scale, published, costs: Vec::new() };
        let is_end = published <= publishing.low || published >= publishing.high;
        if noise.is_discrete() && is_end {
            let g = curve.step();
            let reach = (12.0 * scale / g).ceil().min(MOST_COSTS) as i64;
            let truth = |steps: i64| (on_lattice(published, g) + steps as f64) * g;
            curve.costs = (-reach..=reach).map(|steps| curve.computed(truth(steps))).collect();
        }
        curve
    }

    fn step(&self) -> f64 {
        self.publishing.granularity.unwrap_or(1.0)
    }

    fn computed(&self, truth: f64) -> f64 {
        -self.publishing.log_density(self.noise, self.scale, self.published, truth)
    }
}

impl Joint for Processed {
    fn cost(&self, residual: &[f64]) -> f64 {
        Curve::cost(self, residual[0])
    }
}

impl Curve for Processed {
    fn cost(&self, residual: f64) -> f64 {
        let truth = self.published - residual * self.scale;
        if !self.costs.is_empty() {
            let g = self.step();
            let steps = on_lattice(truth, g) - on_lattice(self.published, g);
            let at = steps + (self.costs.len() / 2) as f64;
            if let Some(&cost) = self.costs.get(at as usize).filter(|_| at >= 0.0) {
                return cost;
            }
        }
        self.computed(truth)
    }

    fn mode(&self) -> f64 {
        if self.published <= self.publishing.low {
            f64::INFINITY
        } else if self.published >= self.publishing.high {
            f64::NEG_INFINITY
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral};
    use crate::rng::stream;

    fn all() -> Vec<(Noise, Publishing)> {
        let plain = Publishing::default();
        let mut cases = Vec::new();
        for noise in Noise::ALL {
            let (low, high) = (-1.0, 4.0);
            cases.push((noise, Publishing { low, high, ..plain }));
            if noise.is_discrete() {
                cases.push((noise, Publishing { granularity: Some(0.25), ..plain }));
                cases.push((noise, Publishing { granularity: Some(0.25), low, high, ..plain }));
            } else {
                cases.push((noise, Publishing { within: Some((-1.5, 3.0)), ..plain }));
                cases.push((noise, Publishing { rounding: Some(0.5), ..plain }));
                cases.push((noise, Publishing { rounding: Some(0.5), low, high, ..plain }));
            }
        }
        cases
    }

    /// Frequencies of published values compared with their probabilities. Continuous values that
    /// are neither rounded nor clamped are compared at the ends only.
    #[test]
    fn draws_have_the_probabilities() {
        const DRAWS: usize = 40_000;
        for (noise, publishing) in all() {
            for (scale, truth) in [(1.3, 0.4), (2.0, 3.0), (0.6, -2.0)] {
                let truth = if noise.is_discrete() && publishing.granularity.is_none() {
                    f64::round(truth)
                } else {
                    truth
                };
                let mut rng = stream(5, 0);
                let mut draws: Vec<f64> =
                    (0..DRAWS).map(|_| publishing.sample(noise, scale, truth, &mut rng)).collect();
                draws.sort_unstable_by(f64::total_cmp);
                for group in draws.chunk_by(|a, b| a == b) {
                    let is_atom = noise.is_discrete()
                        || publishing.rounding.is_some()
                        || group[0] == publishing.low
                        || group[0] == publishing.high;
                    if !is_atom {
                        continue;
                    }
                    let p = publishing.log_density(noise, scale, group[0], truth).exp();
                    let expected = p * DRAWS as f64;
                    let sd = (expected * (1.0 - p)).sqrt();
                    let z = (group.len() as f64 - expected) / sd.max(1.0);
                    assert!(z.abs() < 5.0, "{noise:?} {publishing:?} {scale} {truth} {z}");
                }
            }
        }
    }

    /// The probabilities of all publishable values sum to one.
    #[test]
    fn probabilities_sum_to_one() {
        for (noise, publishing) in all() {
            let step = match (publishing.granularity, publishing.rounding) {
                (Some(step), _) | (_, Some(step)) => step,
                _ if noise.is_discrete() => 1.0,
                _ => continue,
            };
            let (low, high) = (publishing.low.max(-60.0), publishing.high.min(60.0));
            for truth in [0.0, 1.0, -3.0, 5.0] {
                let count = ((high - low) / step).round() as usize;
                let values = (0..=count).map(|i| low + i as f64 * step);
                let total: f64 =
                    values.map(|y| publishing.log_density(noise, 1.2, y, truth).exp()).sum();
                assert!((total - 1.0).abs() < 1e-9, "{noise:?} {publishing:?} {truth}: {total}");
            }
        }
    }

    /// The cost is unimodal, which the bounds over an interval require.
    #[test]
    fn costs_have_one_valley() {
        for (noise, publishing) in all() {
            for published in [-1.0, 0.5, 4.0] {
                let is_between = noise.is_discrete() && published == 0.5;
                if publishing.granularity.is_none() && is_between {
                    continue;
                }
                if let Block::Joint(..) = publishing.block(noise, 1.5, published) {
                    continue;
                }
                let curve = Processed::new(publishing, noise, 1.5, published);
                let costs: Vec<f64> =
                    (-200..=200).map(|i| Curve::cost(&curve, f64::from(i) * 0.05)).collect();
                let mode = curve.mode();
                for (i, pair) in costs.windows(2).enumerate() {
                    let middle = (i as f64 - 199.5) * 0.05;
                    let rise = pair[1] - pair[0];
                    let ok = if middle > mode { rise >= -1e-12 } else { rise <= 1e-12 };
                    assert!(ok, "{noise:?} {publishing:?} {published} at {middle}: {rise}");
                }
            }
        }
    }

    /// Noise on a bounded domain: the density integrates to one, and draws follow it.
    #[test]
    fn noise_on_a_bounded_domain() {
        let publishing = Publishing { within: Some((0.0, 4.0)), ..Publishing::default() };
        for (noise, truth) in [(Noise::Laplace, 0.3), (Noise::Gaussian, 3.5)] {
            let density = |y: f64| publishing.log_density(noise, 1.4, y, truth).exp();
            let below = |y: f64| integral(0.0, y, density);
            assert!((below(4.0) - 1.0).abs() < 1e-7, "{noise:?} {}", below(4.0));
            let mut rng = stream(6, 0);
            let mut draws: Vec<f64> =
                (0..4_000).map(|_| publishing.sample(noise, 1.4, truth, &mut rng)).collect();
            assert_follows("draws", &mut draws, below);
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let plain = Publishing::default();
        let lattice = Publishing { granularity: Some(0.5), ..plain };
        assert_eq!(lattice.check(Noise::Laplace).unwrap_err().field, "granularity");
        let rounded = Publishing { rounding: Some(0.5), ..plain };
        assert_eq!(rounded.check(Noise::DiscreteLaplace).unwrap_err().field, "round");
        let empty = Publishing { low: 1.0, high: 1.0, ..plain };
        assert_eq!(empty.check(Noise::Gaussian).unwrap_err().field, "clamp");
        assert!(rounded.check(Noise::Gaussian).is_ok());
    }

    /// Values that cannot have been published, and those at the ends of what can be.
    #[test]
    fn impossible_values_are_told() {
        let plain = Publishing::default();
        let clamped = Publishing { low: 0.0, high: 9.0, ..plain };
        let lattice = Publishing { granularity: Some(0.25), ..plain };
        let rounded = Publishing { rounding: Some(5.0), low: -7.0, ..plain };
        let bounded = Publishing { within: Some((0.0, 25.0)), ..plain };
        for (publishing, good, bad) in [
            (clamped, [0.0, 9.0, 4.3], [-1.0, 9.5]),
            (lattice, [1020.25, -0.5, 0.0], [1020.3, 0.1]),
            (rounded, [10.0, -5.0, -7.0], [11.0, -8.0]),
            (bounded, [0.0, 25.0, 3.3], [-4.2, 26.0]),
        ] {
            for value in good {
                assert_eq!(publishing.check_value(value), Ok(()), "{publishing:?}");
            }
            for value in bad {
                assert!(publishing.check_value(value).is_err(), "{publishing:?}: {value}");
            }
        }
        // A third of a lattice, published to some digits.
        let third = Publishing { granularity: Some(1.0 / 3.0), ..plain };
        assert!(third.check_value(1.333333).is_ok() && third.check_value(1.33).is_err());
    }
}
