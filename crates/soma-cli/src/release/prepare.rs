//! All of a release but the noise: what is to be released of the data, and how it is written.

use std::path::Path;

use soma::release::mechanism::{Mechanism, Neighbours, Noise};
use soma::release::potential::Norm;
use soma::release::{Aggregate, Part, PartLaw, Release};
use soma::spec::{Columns, Limit, Spec, SpecError};
use toml::Table;

use super::columns::{self, Place, Source, Variable};
use super::data::Data;
use super::evaluate;
use super::ledger::Entry;
use super::publish::{self, Guarantee, Published, Total};
use super::stated::{check_size, contributions, mechanisms, neighbours, number, with_n};

/// Why there can be no release.
#[derive(Debug)]
pub enum Refused {
    /// The spec is wrong, in this text.
    Spec(Box<SpecError>, String),
    /// The data, or what is asked of them.
    Input(String),
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Refused::Input(message)
    }
}

/// The exact answers of a part, which are confidential, and the noise to add to them.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The name of the part.
    pub name: String,
    /// The family of the noise.
    pub noise: Noise,
    /// Its scale, in the unit of the answers.
    pub scale: f64,
    /// The width of the lattice that the noise is on, where it is one of its own.
    pub granularity: Option<f64>,
    /// How far neighbours can be apart: in the sum of absolute values for noise of Laplace's kind,
    /// in the Euclidean norm for Gauss's.
    pub sensitivity: f64,
    /// The answers.
    pub answers: Vec<f64>,
    mechanism: Mechanism,
    table: Table,
}

/// A release that lacks its noise.
#[derive(Debug, Clone)]
pub struct Preparation {
    /// Each part.
    pub parts: Vec<Prepared>,
    /// Which data sets are neighbours.
    pub neighbours: Neighbours,
    /// Where each coordinate of a record stands in the data.
    pub places: Vec<Place>,
    /// The most that all releases of the data may spend.
    pub budget: Option<Limit>,
    /// By which a ledger knows the data.
    pub digest: String,
    /// How many values of each column were clamped, which is confidential; empty, if not asked for.
    pub clamped: Vec<(String, usize)>,
    labels: Vec<(String, Vec<String>)>,
    text: String,
    n: Option<usize>,
    contributions: u64,
}

/// Reads a spec and evaluates it on data. `diagnostics` counts what was clamped.
pub fn prepare(text: &str, data: &Data, diagnostics: bool) -> Result<Preparation, Refused> {
    let bad = |text: &str| {
        let text = text.to_string();
        move |error: SpecError| Refused::Spec(Box::new(error), text)
    };
    let columns = Columns::parse(text).map_err(bad(text))?;
    if data.rows() == 0 {
        return Err("the data have no rows. Allowed: at least one record.".to_string().into());
    }
    let with_n = with_n(text, data.rows());
    let count = columns.names.as_ref().map_or(1, Vec::len);
    let source = source(&with_n, count).map_err(|error| bad(text)(error.in_text(text)))?;
    let neighbours = neighbours(&with_n, &source.release);
    check_size(text, &source.release, neighbours, data.rows())?;
    let places = source.places(&columns, data)?;
    let contributions = contributions(&columns, data)?;
    let records = columns::records(data, &places, &source, &columns, diagnostics)?;
    let curator = Curator { neighbours, contributions: contributions as f64, n: data.rows() };
    let parts = source.release.published_parts();
    let made = parts.iter().zip(mechanisms(&with_n));
    let made = made.map(|(part, table)| curator.part(part, table, &records));
    let clamped = match diagnostics {
        true => clamped(&source, &places, &records),
        false => Vec::new(),
    };
    Ok(Preparation {
        parts: made.collect::<Result<_, _>>()?,
        neighbours,
        places,
        budget: columns.budget,
        digest: data.digest(),
        clamped,
        labels: columns.labels,
        text: text.to_string(),
        n: (neighbours == Neighbours::Replace).then_some(data.rows()),
        contributions,
    })
}

impl Preparation {
    /// Which column each variable of a record was taken from, in words.
    pub fn record(&self) -> String {
        let said = |place: &Place| match (&place.variable, &place.column) {
            (Some(variable), Some(column)) => format!("{variable} <- column {column:?}"),
            (Some(variable), None) => format!("{variable} <- none, since no statistic uses it"),
            (None, column) => format!("column {:?}", column.as_deref().unwrap_or_default()),
        };
        self.places.iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// The text to publish and the total budget, from the noisy answers of each part and what is
    /// guaranteed for them.
    pub fn publish(&self, noisy: Vec<(Vec<f64>, Guarantee)>) -> Result<(String, Total), String> {
        let all = self.parts.iter().zip(noisy).map(|(part, (values, guarantee))| Published {
            values: values.into_iter().map(|y| shown(&part.mechanism, &part.table, y)).collect(),
            scale: part.scale,
            guarantee,
            is_whole: part.noise.is_discrete() && part.granularity.is_none(),
        });
        let all: Vec<Published> = all.collect();
        let total = Total::of(all.iter().map(|part| part.guarantee));
        if ![total.epsilon, total.rho].into_iter().all(|x| x.is_finite() && x >= 0.0) {
            return Err(format!(
                "mechanism.scale: the noise hides nothing (given: {}). Allowed: a scale with which \
                 OpenDP guarantees a finite budget.",
                total.said()
            ));
        }
        let about = publish::About {
            n: self.n,
            neighbours: self.neighbours.name(),
            contributions: self.contributions,
            labels: &self.labels,
        };
        let text = publish::text(&self.text, &about, &all);
        // What cannot be read would be paid for and of no use.
        let is_number = |value: &Option<f64>| value.is_none_or(f64::is_finite);
        let are_numbers = all.iter().all(|part| part.values.iter().all(is_number));
        let is_read = |text: &String| are_numbers && soma::spec::is_release(text);
        let text = text.filter(is_read).ok_or(
            "the release cannot be written as a file that is read again. Allowed: a spec without \
             control characters in names and labels, and noise whose values are numbers.",
        )?;
        Ok((text, total))
    }

    /// What a ledger says of this release, made now.
    pub fn entry(&self, published: &Path, total: Total) -> Entry {
        let entry = Entry::now(published, self.neighbours.name(), total, &self.digest);
        Entry { contributions: self.contributions, ..entry }
    }
}

/// How many values of each column were clamped, once for each clamp.
fn clamped(source: &Source, places: &[Place], records: &[f64]) -> Vec<(String, usize)> {
    let mut said = Vec::new();
    for part in source.release.published_parts() {
        let counts = evaluate::clamped(part.query().as_ref(), records).into_iter().flatten();
        for (c, (place, count)) in places.iter().zip(counts).enumerate() {
            // Categories have no clamp: all their values are checked.
            let variable = source.variables.as_ref().map(|all| &all[c].values);
            let is_code = variable.is_some_and(|values| values.codes().is_some());
            if let (Some(name), Some(count), false) = (&place.column, count, is_code) {
                said.push((name.clone(), count));
            }
        }
    }
    said.sort();
    said.dedup();
    said
}

/// What a spec says is to be released. It needs a model only for statistics as text.
fn source(text: &str, columns: usize) -> Result<Source, SpecError> {
    let has_model = text.parse::<Table>().is_ok_and(|root| root.contains_key("model"));
    if !has_model {
        let release = Release::parse_unpublished(text, columns)?;
        return Ok(Source { release, variables: None });
    }
    let problem = Spec::parse_unpublished(text, columns)?.problem;
    let model = problem.record_model();
    let variables = model.record_names().zip(model.record_values()).map(|(names, values)| {
        let both = names.into_iter().zip(values);
        both.map(|(name, values)| Variable { name, values }).collect()
    });
    Ok(Source { release: problem.release().clone(), variables })
}

/// What all parts have in common.
struct Curator {
    neighbours: Neighbours,
    contributions: f64,
    n: usize,
}

impl Curator {
    /// The answers of a part and the noise to add to them.
    fn part(&self, part: &Part, table: Table, records: &[f64]) -> Result<Prepared, String> {
        let mechanism = match part.law() {
            PartLaw::Independent(mechanism) => mechanism,
            PartLaw::Joint(law) => {
                return Err(format!(
                    "mechanism.kind: OpenDP adds no such noise (given: {}). Allowed: sums and means, \
                     from which analysts have it.",
                    law.name()
                ));
            }
        };
        let scale = mechanism.scales()[0];
        if mechanism.scales().iter().any(|other| *other != scale) {
            return Err("mechanism.scale: the values of a part have one scale (given: several). \
                        Allowed: one scale, or a part for each."
                .into());
        }
        if mechanism.publishing().within.is_some() {
            return Err(
                "mechanism.within: OpenDP has no noise on a bounded domain (given: within). \
                        Allowed: clamp = [...], which clamps the noisy values."
                    .into(),
            );
        }
        let query = part.query();
        let evaluate::Sums { sums, widths } =
            evaluate::sums(query.as_ref(), records).map_err(|why| {
                if part.name().is_empty() { why } else { format!("part {:?}: {why}", part.name()) }
            })?;
        let is_mean = part.aggregate() == Aggregate::Mean;
        let unit = if is_mean { self.n as f64 } else { 1.0 };
        let answers: Vec<f64> = sums.iter().map(|sum| sum / unit).collect();
        let derived = self.sensitivity(part, &widths)? / unit;
        let stated = number(&table, "sensitivity").map(|stated| stated / unit);
        let norm = norm(mechanism)?;
        let least = self.ideal(part, norm) / unit;
        if let Some(stated) = stated.filter(|stated| *stated < least * (1.0 - 1e-12)) {
            return Err(format!(
                "mechanism.sensitivity: is below what a record can change (given: {}). Allowed: at \
                 least {}, or no sensitivity, which takes it.",
                stated * unit,
                least * unit
            ));
        }
        let sensitivity = stated.unwrap_or(derived).max(derived);
        // A scale from a budget is widened for the lattices and for several records of a person, and
        // rounded up to a short number; a stated one is used as it is, and the guarantee says what
        // it gives.
        let is_stated = table.contains_key("scale") || table.contains_key("variance");
        let assumed = stated.unwrap_or(self.neighbours_only(part, norm) / unit);
        let needed = sensitivity + rounding(mechanism, norm, answers.len());
        let widened = || publish::up(scale * (needed / assumed).max(1.0), 9);
        let scale = if is_stated { scale } else { widened() };
        Ok(Prepared {
            name: part.name().to_string(),
            noise: mechanism.noise(),
            scale,
            granularity: mechanism.publishing().granularity,
            sensitivity,
            answers,
            mechanism: mechanism.clone(),
            table,
        })
    }

    /// How far one record, or all of one person, can move the exact sums in the norm of the noise.
    fn ideal(&self, part: &Part, norm: Norm) -> f64 {
        self.contributions * self.neighbours_only(part, norm)
    }

    fn neighbours_only(&self, part: &Part, norm: Norm) -> f64 {
        let sensitivity = self.neighbours.sensitivity(part.query().as_ref());
        match norm {
            Norm::L1 => sensitivity.l1,
            Norm::L2 => sensitivity.l2,
        }
    }

    /// The same of the sums as they are computed: on lattices of these widths, a mean rounded once.
    fn sensitivity(&self, part: &Part, widths: &[f64]) -> Result<f64, String> {
        let mechanism = part.mechanism().ok_or("a part without noise")?;
        let norm = norm(mechanism)?;
        let ideal = self.ideal(part, norm);
        if part.query().is_integer() && part.aggregate() == Aggregate::Sum {
            return Ok(ideal);
        }
        let rounding = match part.aggregate() {
            Aggregate::Sum => 0.0,
            Aggregate::Mean => self.n as f64 * f64::EPSILON,
        };
        let bounds = part.query().bounds();
        let slack = widths.iter().zip(&bounds).map(|(width, (low, high))| {
            self.contributions * width + 2.0 * rounding * low.abs().max(high.abs())
        });
        let slack: f64 = match norm {
            Norm::L1 => slack.sum(),
            Norm::L2 => slack.map(|s| s * s).sum::<f64>().sqrt(),
        };
        Ok((ideal + slack) * (1.0 + 4.0 * f64::EPSILON))
    }
}

/// The norm of the sensitivity that the scale of the noise is a multiple of.
fn norm(mechanism: &Mechanism) -> Result<Norm, String> {
    let noise = mechanism.noise();
    noise.law().sensitivity_norm().ok_or_else(|| {
        format!(
            "mechanism.kind: nothing is guaranteed of this noise (given: {}). Allowed: noise whose \
             scale follows from a budget.",
            noise.name()
        )
    })
}

/// How much farther neighbours can be apart on the lattice that the noise is on: OpenDP rounds each answer
/// to it before it adds noise, and its privacy map counts that.
fn rounding(mechanism: &Mechanism, norm: Norm, answers: usize) -> f64 {
    let width = mechanism.publishing().granularity.unwrap_or(0.0);
    match norm {
        Norm::L1 => width * answers as f64,
        Norm::L2 => width * (answers as f64).sqrt(),
    }
}

/// A noisy value as it is shown: rounded, clamped or not at all.
fn shown(mechanism: &Mechanism, table: &Table, value: f64) -> Option<f64> {
    let publishing = mechanism.publishing();
    let rounded = publishing.rounding.map_or(value, |width| (value / width).round() * width);
    if number(table, "threshold").is_some_and(|threshold| rounded <= threshold) {
        return None;
    }
    Some(rounded.clamp(publishing.low, publishing.high))
}
