//! A release in words.

use super::mechanism::{Budget, Neighbours, Publishing};
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
        PartLaw::Independent(mechanism) => mechanism.describe(),
        PartLaw::Joint(law) => {
            let guarantee = guarantee(part, release);
            return format!("{}, over {records} {of}{guarantee}", law.describe());
        }
    };
    format!("the {aggregate} over {records} {of}, {law}{}", guarantee(part, release))
}

/// The epsilon or rho that the scales imply, under each relation between neighbours that goes with the
/// number of records.
fn guarantee(part: &Part, release: &Release) -> String {
    let n = release.total().known();
    let said = |neighbours: Neighbours, words: &str| {
        let (name, amount) = match part.implied(neighbours, n)? {
            Budget::Epsilon(epsilon) => ("epsilon", epsilon),
            Budget::Rho(rho) => ("rho", rho),
            Budget::EpsilonDelta { .. } => return None,
        };
        Some(format!("{name} {amount:.4} if a record is {words}"))
    };
    let replaced = n.and_then(|_| said(Neighbours::Replace, "replaced"));
    let added = said(Neighbours::AddRemove, "added or removed");
    let said: Vec<String> = [replaced, added].into_iter().flatten().collect();
    let said = said.join(", ");
    let source = part.mechanism().and_then(Mechanism::source);
    match source.and_then(|source| Some((source.budget, source.sensitivity?))) {
        Some((budget, sensitivity)) if said.is_empty() => {
            format!(" ({budget} for a sensitivity of {sensitivity}, as stated)")
        }
        Some((budget, sensitivity)) => format!(
            " ({budget} for a sensitivity of {sensitivity}, as stated; with the sensitivity that is \
             shown, {said})"
        ),
        None if said.is_empty() => String::new(),
        None => format!(" ({said})"),
    }
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
            (true, false) => said.push_str(&format!(", values up to {low} clamped or not shown")),
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
