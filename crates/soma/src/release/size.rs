//! An unknown number of records.
//!
//! There are N slots, each with a record or empty; pi(n) is the prior of the number of records.
//! Slots are exchangeable: given n, all choices of n of them are equally likely. A proposal is a
//! record with probability q and empty otherwise, so the state has the density pi(n) / (C(N, n) q^n
//! (1 - q)^(N - n)) relative to N independent proposals. That is a potential of the number of
//! records, beside those of the parts; nothing else of a kernel changes.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use rand::RngExt;
use rand_distr::weighted::WeightedIndex;
use statrs::function::gamma::ln_gamma;

use super::law::{Means, OfAnswer};
use super::part::JointLaw;
use super::potential::{Block, Coordinate, Curve};
use super::query::{Combined, Count, Query, Slots};
use super::{Aggregate, Part, Release, SizePrior, Total};
use crate::error::Invalid;
use crate::rng::Rng;

/// The prior of the number of records, and the slots that hold them.
#[derive(Debug, Clone)]
pub struct Slotted {
    prior: SizePrior,
    slots: usize,
    /// The probability that a proposal is a record.
    share: f64,
    /// The release with the likely number of records: where chains start.
    likely: Arc<Release>,
    /// Whether each part depends on the records beside their number; all of them if none does.
    is_about_records: Vec<bool>,
}

/// Numbers of records with a smaller probability, relative to the likely number, are truncated from
/// a flat prior.
const LEFT_OUT: f64 = 1e-16;

/// The smallest number of slots beyond the likely number.
const LEAST_SPARE: f64 = 10.0;

/// Slots that are given must reach beyond the likely number by so many standard deviations.
const FEWEST_SDS: f64 = 4.0;

/// The largest number of slots.
const MOST_SLOTS: f64 = (1u64 << 50) as f64;

impl Slotted {
    /// The prior of the number of records.
    pub fn prior(&self) -> SizePrior {
        self.prior
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The probability that a proposal is a record.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The release with the likely number of records.
    pub(crate) fn likely(&self) -> &Release {
        &self.likely
    }

    /// The release as it is given that there are `n` records: without the parts that only count
    /// them.
    pub(crate) fn of_present(&self, n: usize) -> Result<Release, Invalid> {
        let parts = self.likely.parts().iter().zip(&self.is_about_records);
        let about = parts.filter(|(_, is_about_records)| **is_about_records);
        Release::of_parts(n, about.map(|(part, _)| part.clone()).collect())
    }

    /// The same with other published values.
    pub(super) fn with_values(&self, values: &[f64]) -> Result<Self, Invalid> {
        Ok(Slotted { likely: Arc::new(self.likely.with_values(values)?), ..self.clone() })
    }

    /// A number of records drawn from the prior, for simulation.
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let logs: Vec<f64> = (0..=self.slots).map(|n| self.log_prior(n as f64)).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.iter().map(|log| (log - most).exp());
        WeightedIndex::new(weights).map_or(0, |index| rng.sample(index))
    }

    fn log_prior(&self, n: f64) -> f64 {
        match self.prior {
            SizePrior::Flat => 0.0,
            SizePrior::Uniform { low, high } if (low as f64..=high as f64).contains(&n) => 0.0,
            SizePrior::Uniform { .. } => f64::NEG_INFINITY,
            SizePrior::Poisson { mean } => n * mean.ln() - mean - ln_gamma(n + 1.0),
            SizePrior::PoissonGamma { shape, rate } => {
                ln_gamma(n + shape) - ln_gamma(shape) - ln_gamma(n + 1.0)
                    + shape * (rate / (1.0 + rate)).ln()
                    - n * rate.ln_1p()
            }
        }
    }
}

impl Release {
    /// A release with an unknown number of records.
    ///
    /// `slots` is the largest possible number of records, if given. The posterior does not depend
    /// on it as long as it is large enough.
    pub fn of_unknown_size(
        prior: SizePrior,
        parts: Vec<Part>,
        slots: Option<usize>,
    ) -> Result<Self, Invalid> {
        Total::Unknown(prior).check()?;
        let parts: Vec<Part> = parts.into_iter().map(of_sums).collect::<Result<_, _>>()?;
        let (likely, spread) = likely_size(&parts, prior)?;
        let most = match prior {
            SizePrior::Uniform { high, .. } => high as f64,
            // A Poisson variable exceeds this with probability below 10^-15.
            SizePrior::Poisson { mean } => (mean + 12.0 * mean.sqrt() + 40.0).ceil(),
            SizePrior::Flat | SizePrior::PoissonGamma { .. } => f64::INFINITY,
        };
        let enough = likely + (12.0 * spread.sd + spread.tail).max(LEAST_SPARE);
        let wanted = slots.map_or(most.min(enough), |slots| (slots as f64).min(most));
        if !(1.0..=MOST_SLOTS).contains(&wanted) {
            return Err(Invalid::new(
                "n",
                "the release leaves too many numbers of records possible",
                format!("up to {wanted}"),
                format!("a prior of n that ends by {MOST_SLOTS}"),
            ));
        }
        if let Some(given) = slots.filter(|&slots| (slots as f64) < likely + FEWEST_SDS * spread.sd)
        {
            return Err(Invalid::new(
                "n.slots",
                "there may be more records than slots, as the release says",
                given,
                format!(
                    "at least {enough:.0}, or no slots; if it is known that there are no more, \
                     n = {{ prior = \"uniform\", high = {given} }}"
                ),
            ));
        }
        let slots = wanted.ceil() as usize;
        let guess = (likely.round() as usize).clamp(1, slots);
        let share = (guess as f64 / slots as f64).clamp(0.02, 0.98);
        let likely = Arc::new(Release::of_parts(guess, parts.clone())?);
        let is_constant = |part: &Part| part.query().bounds().iter().all(|(low, high)| low == high);
        let all = parts.iter().all(is_constant);
        let is_about_records = parts.iter().map(|part| all || !is_constant(part)).collect();
        let slotted = Slotted { prior, slots, share, likely, is_about_records };
        Release::of_slots(slotted, &parts)
    }

    fn of_slots(slotted: Slotted, parts: &[Part]) -> Result<Self, Invalid> {
        let d = parts[0].query().record_dim();
        let mut all: Vec<Part> =
            parts.iter().map(|part| part.on(Arc::new(Slots::new(part.query().clone())))).collect();
        let count = Arc::new(Slots::new(Arc::new(Count::new(d))));
        let law = Arc::new(SizeLaw(slotted.clone()));
        all.push(Part::joint(count, law, Vec::new())?.named("number of records"));
        let mut release = Release::of_parts(slotted.slots, all)?;
        release.slotted = Some(Arc::new(slotted));
        Ok(release)
    }
}

/// Converts a part of means to one of the sums and the number of records.
fn of_sums(part: Part) -> Result<Part, Invalid> {
    let Some(mechanism) = part.mechanism().filter(|_| part.aggregate() == Aggregate::Mean) else {
        return Ok(part);
    };
    let count = Arc::new(Count::new(part.query().record_dim()));
    let names = ["sum", "count"].map(String::from).to_vec();
    let query = Arc::new(Combined::new(vec![part.query().clone(), count], names)?);
    let law = Arc::new(OfAnswer { answer: Means, mechanism: mechanism.clone() });
    Ok(Part::joint(query, law, part.values().to_vec())?.named(part.name()))
}

/// The uncertainty of the number of records.
struct Spread {
    /// The approximate standard deviation.
    sd: f64,
    /// For Laplace noise, the distance of probability `LEFT_OUT`.
    tail: f64,
}

/// The number of records according to the part with the smallest uncertainty, and that uncertainty.
fn likely_size(parts: &[Part], prior: SizePrior) -> Result<(f64, Spread), Invalid> {
    let spoken = parts.iter().filter(|part| part.query().counts_records()).map(|part| {
        let mechanism = part.mechanism();
        let scales = mechanism.map_or(&[][..], |mechanism| mechanism.scales());
        let variance: f64 = scales
            .iter()
            .map(|scale| mechanism.map_or(1.0, |m| m.noise().law().exact_variance(*scale)))
            .sum();
        let widest = scales.iter().copied().fold(0.0, f64::max);
        let spread = Spread { sd: variance.sqrt(), tail: -LEFT_OUT.ln() * widest };
        (part.values().iter().sum::<f64>().max(0.0), spread)
    });
    let best = spoken.min_by(|a, b| a.1.sd.total_cmp(&b.1.sd));
    match (best, prior) {
        (Some((likely, spread)), SizePrior::Uniform { low, high }) => {
            Ok((likely.clamp(low as f64, high as f64), spread))
        }
        (Some(said), _) => Ok(said),
        (None, SizePrior::Uniform { low, high }) => {
            let (low, high) = (low as f64, high as f64);
            Ok((0.5 * (low + high), Spread { sd: high, tail: high }))
        }
        // The tail of a negative binomial decreases by about e^(-rate) per step.
        (None, SizePrior::PoissonGamma { shape, rate }) => {
            let sd = (shape * (1.0 + rate)).sqrt() / rate;
            Ok((shape / rate, Spread { sd, tail: -LEFT_OUT.ln() / rate.ln_1p() }))
        }
        (None, SizePrior::Poisson { mean }) => {
            Ok((mean, Spread { sd: mean.sqrt(), tail: 40.0 + mean.sqrt() }))
        }
        (None, SizePrior::Flat) => Err(Invalid::new(
            "n",
            "no part of the release says how many records there are",
            "\"unknown\"",
            "n = { prior = \"uniform\", low = ..., high = ... } or { prior = \"poisson\", mean = ... \
             }; or a part with query = { kind = \"count\" }",
        )),
    }
}

/// The distribution of the number of records among the slots; it publishes nothing.
#[derive(Debug)]
struct SizeLaw(Slotted);

impl SizeLaw {
    /// log pi(n) - log C(N, n) - n log q - (N - n) log(1 - q).
    fn log_weight(&self, n: f64) -> f64 {
        let Slotted { slots, share, .. } = self.0;
        let slots = slots as f64;
        if !(0.0..=slots).contains(&n) {
            return f64::NEG_INFINITY;
        }
        let choices = ln_gamma(slots + 1.0) - ln_gamma(n + 1.0) - ln_gamma(slots - n + 1.0);
        self.0.log_prior(n) - choices - n * share.ln() - (slots - n) * (-share).ln_1p()
    }
}

impl JointLaw for SizeLaw {
    fn name(&self) -> &'static str {
        "not published"
    }

    fn published(&self) -> usize {
        0
    }

    fn check(&self, _: &dyn Query, _: &[f64]) -> Result<(), Invalid> {
        Ok(())
    }

    fn log_density(&self, _: &[f64], sums: &[f64]) -> f64 {
        self.log_weight(sums[0].round())
    }

    fn sample(&self, _: &[f64], _: &mut Rng) -> Vec<f64> {
        Vec::new()
    }

    fn likely_sums(&self, _: &[f64], _: f64) -> Vec<f64> {
        vec![0.0]
    }

    fn scales(&self, _: &[f64], _: f64) -> Vec<f64> {
        vec![1.0]
    }

    fn block(&self, _: &[f64]) -> Option<Block> {
        let kept = if self.0.slots < MOST_COSTS { self.0.slots + 1 } else { 0 };
        let costs = (0..kept).map(|n| -self.log_weight(n as f64)).collect();
        let law = SizeLaw(self.0.clone());
        Some(Block::Coordinate(Coordinate::Curve(Arc::new(SizeCost { law, costs }))))
    }
}

/// Up to this number of costs are tabulated; beyond it they are computed when needed.
const MOST_COSTS: usize = 1_000_000;

/// The cost of each number of records. The residual is minus that number.
struct SizeCost {
    law: SizeLaw,
    /// Empty if they are too many.
    costs: Vec<f64>,
}

impl Debug for SizeCost {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "SizeCost({} slots)", self.law.0.slots)
    }
}

impl Curve for SizeCost {
    fn cost(&self, residual: f64) -> f64 {
        let n = (-residual).round();
        match self.costs.get(n.max(0.0) as usize).filter(|_| n >= 0.0) {
            Some(cost) => *cost,
            None => -self.law.log_weight(n),
        }
    }

    /// The cost need not be unimodal: all integers of the interval are evaluated, three for a
    /// replaced slot.
    fn bounds(&self, low: f64, high: f64) -> (f64, f64) {
        let (from, to) = ((-high).round(), (-low).round());
        let mut bounds = (f64::INFINITY, f64::NEG_INFINITY);
        let mut n = from;
        while n <= to {
            let cost = self.cost(-n);
            bounds = (bounds.0.min(cost), bounds.1.max(cost));
            n += 1.0;
        }
        bounds
    }
}
