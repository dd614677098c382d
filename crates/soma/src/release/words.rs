//! A release in words.

use super::mechanism::{Neighbours, Publishing};
use super::potential::Norm;
use super::{Aggregate, Mechanism, Part, PartLaw, Release, SizePrior, Total};
use crate::error::{listed, rounded};

impl Release {
    /// What was published and its law, in words: a sentence, or a line for each of several parts.
    pub fn describe(&self) -> String {
        let parts = self.published_parts();
        if let [part] = parts {
            return self::part(part, self, &format!("{} records", size(self)));
        }
        let named = |part: &Part| format!("  {}: {}", part.name(), self::part(part, self, "them"));
        let head = format!("{} parts about {} records", parts.len(), size(self));
        std::iter::once(head).chain(parts.iter().map(named)).collect::<Vec<_>>().join("\n")
    }

    /// A name for each published value, those of all parts one after the other.
    pub fn published_labels(&self) -> Vec<String> {
        let parts = self.published_parts();
        let labels = |part: &Part| {
            let below = |label: String| match parts {
                [_] => label,
                _ => format!("{}: {label}", part.name()),
            };
            part_labels(part).into_iter().map(below).collect::<Vec<_>>()
        };
        parts.iter().flat_map(labels).collect()
    }

    /// The published values, those of all parts one after the other.
    pub fn published_values(&self) -> Vec<f64> {
        self.published_parts().iter().flat_map(|part| part.values().to_vec()).collect()
    }
}

fn part_labels(part: &Part) -> Vec<String> {
    match part.law() {
        PartLaw::Independent(_) => part.query().labels(),
        PartLaw::Joint(law) if law.published() == 1 => vec![law.name().to_string()],
        PartLaw::Joint(law) => {
            (1..=law.published()).map(|i| format!("{} {i}", law.name())).collect()
        }
    }
}

/// What a part is, in a sentence.
fn part(part: &Part, release: &Release, records: &str) -> String {
    let query = part.query();
    let labels = listed(&query.labels());
    let of = match query.describe() {
        Some(_) => format!("of the statistics ({labels})"),
        None => format!("of a {} query ({labels})", query.kind()),
    };
    let aggregate = match part.aggregate() {
        Aggregate::Sum => "sum",
        Aggregate::Mean => "mean",
    };
    let law = match part.law() {
        PartLaw::Independent(mechanism) => {
            format!("{}{}", mechanism.describe(), guarantee(part, mechanism, release))
        }
        PartLaw::Joint(law) => return format!("{}, over {records} {of}", law.describe()),
    };
    format!("the {aggregate} over {records} {of}, {law}")
}

/// The epsilon or rho that the scale implies, with the sensitivity of the query, where all values have
/// the same scale.
fn guarantee(part: &Part, mechanism: &Mechanism, release: &Release) -> String {
    let (query, scales) = (part.query(), mechanism.scales());
    let n = release.total().known();
    let unit = match part.aggregate() {
        Aggregate::Sum => 1.0,
        Aggregate::Mean => n.map_or(f64::NAN, |n| n as f64),
    };
    let spent = |neighbours: Neighbours, words: &str| {
        let sensitivity = neighbours.sensitivity(query.as_ref());
        let (name, amount) = match mechanism.noise().law().sensitivity_norm()? {
            Norm::L1 => ("epsilon", sensitivity.l1 / (scales[0] * unit)),
            Norm::L2 => ("rho", 0.5 * (sensitivity.l2 / (scales[0] * unit)).powi(2)),
        };
        let amount = (amount.is_finite() && amount > 0.0).then_some(amount)?;
        Some(format!("{name} {amount:.4} if a record is {words}"))
    };
    if scales.windows(2).any(|pair| pair[0] != pair[1]) {
        return String::new();
    }
    let replaced = n.and_then(|_| spent(Neighbours::Replace, "replaced"));
    let is_sum = part.aggregate() == Aggregate::Sum;
    let added = spent(Neighbours::AddRemove, "added or removed").filter(|_| is_sum);
    let said: Vec<String> = [replaced, added].into_iter().flatten().collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

impl Mechanism {
    /// The noise, its scale and what was done to the noisy values, in words.
    pub(super) fn describe(&self) -> String {
        let (noise, scales) = (self.noise().name(), self.scales());
        let scale = if scales.windows(2).all(|pair| pair[0] == pair[1]) {
            format!("scale {}", rounded(scales[0]))
        } else {
            format!("scales {}", listed(&scales.iter().copied().map(rounded).collect::<Vec<_>>()))
        };
        let Publishing { granularity, within, rounding, low, high } = self.publishing();
        let mut said = format!("{noise} noise of {scale}");
        if let Some(width) = granularity {
            said.push_str(&format!(" on a lattice of width {width}"));
        }
        if let Some((low, high)) = within {
            said.push_str(&format!(" on the bounded domain [{low}, {high}]"));
        }
        if let Some(width) = rounding {
            said.push_str(&format!(", rounded to multiples of {width}"));
        }
        match (low.is_finite(), high.is_finite()) {
            (true, true) => said.push_str(&format!(", clamped to [{low}, {high}]")),
            (true, false) => said.push_str(&format!(", not shown or clamped up to {low}")),
            (false, true) => said.push_str(&format!(", clamped at {high}")),
            (false, false) => (),
        }
        said
    }
}

/// The number of records, or that it is unknown.
fn size(release: &Release) -> String {
    match release.total() {
        Total::Known(n) => format!("n = {n}"),
        Total::Unknown(SizePrior::Flat) => "an unknown number of".into(),
        Total::Unknown(SizePrior::Uniform { low, high }) => {
            format!("an unknown number (prior uniform, {low} to {high}) of")
        }
        Total::Unknown(SizePrior::Poisson { mean }) => {
            format!("an unknown number (prior Poisson, mean {mean}) of")
        }
        Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
            format!("an unknown number (prior Poisson-gamma, shape {shape}, rate {rate}) of")
        }
    }
}
