//! One published number: the cells of its true answer, and its noise.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::{Invalid, finite, positive};
use crate::release::mechanism::{Mechanism, Noise, Publishing};
use crate::release::potential::Coordinate;

/// The likelihood of one published number as a function of the true answer.
pub trait CountLaw: Debug + Send + Sync {
    /// The normalised log density of the published number given the true answer, an integer.
    fn log_density(&self, truth: f64) -> f64;

    /// The maximum likelihood estimate of the true answer, or an approximation.
    fn centre(&self) -> f64;

    /// The standard deviation of the noise, or the approximate uncertainty of the true answer.
    fn sd(&self) -> f64;
}

/// A likelihood with its published value. The common ones are inlined, since they are evaluated
/// millions of times a second; any other implements [`CountLaw`].
#[derive(Debug, Clone)]
pub enum Likelihood {
    /// Constant minus |value - truth| / scale.
    L1 {
        /// The published value.
        value: f64,
        /// One over the scale.
        rate: f64,
        /// The log of the normaliser.
        constant: f64,
    },
    /// Constant minus (value - truth)^2 / (2 scale^2).
    L2 {
        /// The published value.
        value: f64,
        /// One over the scale.
        rate: f64,
        /// The log of the normaliser.
        constant: f64,
    },
    /// Any other likelihood.
    Other(Arc<dyn CountLaw>),
}

impl Likelihood {
    /// `value` was published with additive `noise` of this scale.
    pub fn new(noise: Noise, scale: f64, value: f64) -> Result<Self, Invalid> {
        positive("scale", scale)?;
        finite("value", value)?;
        if noise.is_discrete() && value.fract() != 0.0 {
            return Err(Invalid::new(
                "value",
                format!("{} noise gives whole numbers", noise.name()),
                value,
                format!(
                    "a whole number; or {} noise, if the release is not whole",
                    Noise::any_continuous()
                ),
            ));
        }
        let (rate, constant) = (1.0 / scale, noise.log_density(scale, 0.0));
        Ok(match noise.law().coordinate(scale, value) {
            Coordinate::L1 => Likelihood::L1 { value, rate, constant },
            Coordinate::L2 => Likelihood::L2 { value, rate, constant },
            Coordinate::Curve(_) => Likelihood::Other(Arc::new(Added { noise, scale, value })),
        })
    }

    /// The likelihood of a published mean over `n` records as a function of their sum. The density
    /// is still that of the mean.
    pub fn of_mean(self, n: f64) -> Self {
        match self {
            Likelihood::L1 { value, rate, constant } => {
                Likelihood::L1 { value: value * n, rate: rate / n, constant }
            }
            Likelihood::L2 { value, rate, constant } => {
                Likelihood::L2 { value: value * n, rate: rate / n, constant }
            }
            Likelihood::Other(law) => Likelihood::Other(Arc::new(OfMean { law, n })),
        }
    }

    /// `value` was published under `mechanism`, one of whose scales this is.
    pub(super) fn published(
        mechanism: &Mechanism,
        scale: f64,
        value: f64,
    ) -> Result<Self, Invalid> {
        Likelihood::processed(mechanism.noise(), scale, *mechanism.publishing(), value)
    }

    /// `value` was published after additive `noise` of this scale and this post-processing. At an end
    /// of its clamp it stands for all noisy answers beyond: a suppressed value is its threshold.
    pub fn processed(
        noise: Noise,
        scale: f64,
        publishing: Publishing,
        value: f64,
    ) -> Result<Self, Invalid> {
        publishing.check(noise)?;
        let is_end = value <= publishing.low || value >= publishing.high;
        if publishing.is_plain() || (!is_end && publishing.is_clamp()) {
            return Likelihood::new(noise, scale, value);
        }
        positive("scale", scale)?;
        finite("value", value)?;
        let mut law = Processed { noise, publishing, scale, value, logs: Vec::new() };
        if is_end && noise.is_discrete() {
            let reach = (value.abs() + 12.0 * scale).ceil().min(MOST_LOGS) as u64;
            law.logs = (0..=reach).map(|truth| law.computed(truth as f64)).collect();
        }
        Ok(Likelihood::Other(Arc::new(law)))
    }

    /// The normalised log density of the published number given the true answer.
    #[inline]
    pub fn log_density(&self, truth: f64) -> f64 {
        match self {
            Likelihood::L1 { value, rate, constant } => constant - (value - truth).abs() * rate,
            Likelihood::L2 { value, rate, constant } => {
                let z = (value - truth) * rate;
                constant - 0.5 * z * z
            }
            Likelihood::Other(law) => law.log_density(truth),
        }
    }

    /// The maximum likelihood estimate of the true answer.
    pub fn centre(&self) -> f64 {
        match self {
            Likelihood::L1 { value, .. } | Likelihood::L2 { value, .. } => *value,
            Likelihood::Other(law) => law.centre(),
        }
    }

    /// The standard deviation of the noise; if discrete, that of the continuous noise.
    pub fn sd(&self) -> f64 {
        match self {
            Likelihood::L1 { rate, .. } => std::f64::consts::SQRT_2 / rate,
            Likelihood::L2 { rate, .. } => 1.0 / rate,
            Likelihood::Other(law) => law.sd(),
        }
    }
}

/// A value with additive noise that is neither L1 nor L2.
#[derive(Debug)]
struct Added {
    noise: Noise,
    scale: f64,
    value: f64,
}

impl CountLaw for Added {
    fn log_density(&self, truth: f64) -> f64 {
        self.noise.law().log_density(self.scale, self.value, truth)
    }

    fn centre(&self) -> f64 {
        self.value
    }

    fn sd(&self) -> f64 {
        self.noise.variance(self.scale).sqrt()
    }
}

/// The likelihood of a mean as a function of the sum.
#[derive(Debug)]
struct OfMean {
    law: Arc<dyn CountLaw>,
    n: f64,
}

impl CountLaw for OfMean {
    fn log_density(&self, truth: f64) -> f64 {
        self.law.log_density(truth / self.n)
    }

    fn centre(&self) -> f64 {
        self.law.centre() * self.n
    }

    fn sd(&self) -> f64 {
        self.law.sd() * self.n
    }
}

/// The most tabulated log densities of one published value.
const MOST_LOGS: f64 = 10_000.0;

/// A post-processed value: on a lattice, rounded, clamped or suppressed.
#[derive(Debug)]
struct Processed {
    noise: Noise,
    publishing: Publishing,
    scale: f64,
    value: f64,
    /// For discrete noise at an end of the clamp: the log densities at true answers 0, 1, ..., since
    /// the tail probabilities of some distributions are long sums.
    logs: Vec<f64>,
}

impl Processed {
    fn computed(&self, truth: f64) -> f64 {
        self.publishing.log_density(self.noise, self.scale, self.value, truth)
    }

    /// Whether the value is at an end of the clamp.
    fn is_end(&self) -> bool {
        self.value <= self.publishing.low || self.value >= self.publishing.high
    }
}

impl CountLaw for Processed {
    fn log_density(&self, truth: f64) -> f64 {
        let known = self.logs.get(truth as usize).filter(|_| truth >= 0.0 && truth.fract() == 0.0);
        known.copied().unwrap_or_else(|| self.computed(truth))
    }

    fn centre(&self) -> f64 {
        if self.is_end() { 0.5 * self.value.max(0.0) } else { self.value }
    }

    fn sd(&self) -> f64 {
        let sd = self.noise.variance(self.scale).sqrt();
        if self.is_end() { sd + 0.5 * self.value.abs() } else { sd }
    }
}

/// One published number: a row of the matrix A with its likelihood.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its name in the output, as in `count[label]`; empty if it is no output.
    pub label: String,
    /// The cells of its true answer, each once, with their weights.
    pub cells: Vec<(usize, i64)>,
    /// Its likelihood.
    pub law: Likelihood,
}

impl Published {
    /// The sum of `cells`, published under `law`.
    pub fn sum(label: impl Into<String>, cells: &[usize], law: Likelihood) -> Self {
        Published { label: label.into(), cells: cells.iter().map(|&c| (c, 1)).collect(), law }
    }

    pub(super) fn check(&self, cells: usize) -> Result<(), Invalid> {
        let mut seen: Vec<usize> = self.cells.iter().map(|&(cell, _)| cell).collect();
        seen.sort_unstable();
        if let Some(&last) = seen.last().filter(|&&cell| cell >= cells) {
            return Err(Invalid::new(
                format!("cells of {}", self.label),
                "there is no such cell",
                last,
                format!("numbers below {cells}"),
            ));
        }
        if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Invalid::new(
                format!("cells of {}", self.label),
                "a cell is listed twice",
                twice[0],
                "each cell once, with how often it is counted",
            ));
        }
        if seen.is_empty() || self.cells.iter().any(|&(_, w)| w == 0 || w.abs() > 1 << 10) {
            return Err(Invalid::new(
                format!("cells of {}", self.label),
                "is not a sum of cells",
                format!("{} cells", seen.len()),
                format!("at least one cell, each counted 1 to {} times, or minus that", 1 << 10),
            ));
        }
        Ok(())
    }
}
