//! All of a release but the noise: what is to be released of the data, and how it is written.

use soma::release::mechanism::{Mechanism, Neighbours, Noise};
use soma::release::potential::Norm;
use soma::release::{Aggregate, Part, PartLaw, Release, Total as Size};
use soma::spec::{Columns, Spec, SpecError};
use toml::{Table, Value};

use super::data::{Cell, Data};
use super::evaluate::{self, Source};
use super::publish::{self, Guarantee, Published, Total};

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
    /// How many values of each column were clamped, which is confidential; empty, if not asked for.
    pub clamped: Vec<(String, usize)>,
    text: String,
    n: Option<usize>,
}

/// Reads a spec and evaluates it on data. `diagnostics` counts what was clamped.
pub fn prepare(text: &str, data: &Data, diagnostics: bool) -> Result<Preparation, Refused> {
    let bad = |text: &str| {
        let text = text.to_string();
        move |error: SpecError| Refused::Spec(Box::new(error), text)
    };
    let columns = Columns::parse(text).map_err(bad(text))?;
    let contributions = contributions(&columns, data)?;
    let with_n = with_n(text, data.rows());
    let count = columns.names.as_ref().map_or(1, Vec::len);
    let source = source(&with_n, count).map_err(bad(&with_n))?;
    let neighbours = neighbours(&with_n, &source.release);
    check_size(text, &source.release, neighbours, data.rows())?;
    let names = source.names(&columns)?;
    let records = evaluate::records(data, &names, &source, diagnostics)?;
    let curator = Curator { neighbours, contributions, n: data.rows() };
    let parts = source.release.published_parts();
    let made = parts.iter().zip(mechanisms(&with_n));
    let made = made.map(|(part, table)| curator.part(part, table, &records));
    let clamped = match diagnostics {
        true => clamped(parts, &names, &records),
        false => Vec::new(),
    };
    Ok(Preparation {
        parts: made.collect::<Result<_, _>>()?,
        neighbours,
        clamped,
        text: text.to_string(),
        n: (neighbours == Neighbours::Replace).then_some(data.rows()),
    })
}

impl Preparation {
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
        let text = publish::text(&self.text, self.n, self.neighbours.name(), &all);
        let text = text.ok_or("the release cannot be written as TOML")?;
        Ok((text, total))
    }
}

/// How many values of each column were clamped.
fn clamped(parts: &[Part], names: &[String], records: &[f64]) -> Vec<(String, usize)> {
    let counts = parts.iter().filter_map(|part| evaluate::clamped(part.query().as_ref(), records));
    counts.flat_map(|counts| names.iter().cloned().zip(counts)).collect()
}

/// What a spec says is to be released. It needs a model only for statistics as text.
fn source(text: &str, columns: usize) -> Result<Source, SpecError> {
    let has_model = text.parse::<Table>().is_ok_and(|root| root.contains_key("model"));
    if !has_model {
        let release = Release::parse_unpublished(text, columns)?;
        return Ok(Source { release, variables: None });
    }
    let problem = Spec::parse_unpublished(text, columns)?.problem;
    let variables = problem.record_model().record_names();
    Ok(Source { release: problem.release().clone(), variables })
}

/// The most records of one person, from the spec; refused where the data have more.
fn contributions(columns: &Columns, data: &Data) -> Result<f64, String> {
    let most = columns.contributions.unwrap_or(1);
    let Some(person) = &columns.person else { return Ok(most as f64) };
    let column = data.column(person).ok_or_else(|| {
        format!(
            "data.person: the data have no such column (given: {person:?}). Allowed: {}.",
            soma::error::listed(data.names())
        )
    })?;
    let mut keys: Vec<String> = column.iter().map(|cell: &Cell| format!("{cell:?}")).collect();
    keys.sort_unstable();
    let largest = keys.chunk_by(|a, b| a == b).map(<[String]>::len).max().unwrap_or(0) as u64;
    if largest > most {
        return Err(format!(
            "data.contributions: a person has more records than the bound (given: {most}). \
             Allowed: contributions = ..., a bound that all persons keep, which the noise grows \
             with; or data with at most {most} for each person."
        ));
    }
    Ok(most as f64)
}

/// The spec with the number of rows as n, where it names none.
fn with_n(text: &str, rows: usize) -> String {
    let Ok(mut root) = text.parse::<Table>() else { return text.to_string() };
    let Some(Value::Table(release)) = root.get_mut("release") else { return text.to_string() };
    if release.contains_key("n") {
        return text.to_string();
    }
    let is_replace = release.get("neighbours").and_then(Value::as_str) != Some("add-remove");
    let n = if is_replace { Value::Integer(rows as i64) } else { Value::String("unknown".into()) };
    release.insert("n".into(), n);
    toml::to_string(&root).unwrap_or_else(|_| text.to_string())
}

fn neighbours(text: &str, of: &Release) -> Neighbours {
    let root = text.parse::<Table>().unwrap_or_default();
    let release = root.get("release").and_then(Value::as_table);
    let said = release.and_then(|release| release.get("neighbours")).and_then(Value::as_str);
    match (said, of.total()) {
        (Some("add-remove"), _) | (None, Size::Unknown(_)) => Neighbours::AddRemove,
        _ => Neighbours::Replace,
    }
}

/// n is public if and only if records are replaced, and then it is that of the data.
fn check_size(
    text: &str,
    release: &Release,
    neighbours: Neighbours,
    rows: usize,
) -> Result<(), String> {
    let stated = text
        .parse::<Table>()
        .ok()
        .and_then(|root| root.get("release")?.as_table()?.get("n")?.as_integer());
    match (release.total(), neighbours) {
        (Size::Known(_), Neighbours::AddRemove) => Err(
            "release.n: where records are added or removed, their number is confidential (given: a \
             number). Allowed: n = \"unknown\", and a part with a noisy count; or neighbours = \
             \"replace\"."
                .into(),
        ),
        (Size::Unknown(_), Neighbours::Replace) => Err(
            "release.n: where records are replaced, their number is public (given: unknown). \
             Allowed: no n, which takes it from the data; or neighbours = \"add-remove\"."
                .into(),
        ),
        (Size::Known(_), _) if stated.is_some_and(|n| n != rows as i64) => Err(format!(
            "release.n: the data have another number of rows (given: {}). Allowed: {rows}, or no n.",
            stated.unwrap_or_default()
        )),
        _ => Ok(()),
    }
}

/// The mechanism of each part, as the spec has it.
fn mechanisms(text: &str) -> Vec<Table> {
    let root = text.parse::<Table>().unwrap_or_default();
    let Some(release) = root.get("release").and_then(Value::as_table) else { return Vec::new() };
    let of = |part: &Table| part.get("mechanism").and_then(Value::as_table).cloned();
    match release.get("parts").and_then(Value::as_array) {
        Some(parts) => parts.iter().filter_map(|part| of(part.as_table()?)).collect(),
        None => of(release).into_iter().collect(),
    }
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
                    "mechanism.kind: a {} is not released (given: {}). Allowed: sums and means, \
                     from which analysts have it.",
                    law.name(),
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
        let evaluate::Sums { sums, widths } = evaluate::sums(query.as_ref(), records)?;
        let is_mean = part.aggregate() == Aggregate::Mean;
        let unit = if is_mean { self.n as f64 } else { 1.0 };
        let answers: Vec<f64> = sums.iter().map(|sum| sum / unit).collect();
        let derived = self.sensitivity(part, &widths)? / unit;
        let stated = number(&table, "sensitivity").map(|stated| stated / unit);
        let norm = mechanism.noise().law().sensitivity_norm();
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
        // A scale from a budget is widened for the lattice and for several records of a person; a
        // stated one is used as it is, and the guarantee says what it gives.
        let is_stated = table.contains_key("scale") || table.contains_key("variance");
        let assumed = stated.unwrap_or(self.neighbours_only(part, norm) / unit);
        let scale = if is_stated { scale } else { scale * (sensitivity / assumed).max(1.0) };
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
        let norm = mechanism.noise().law().sensitivity_norm();
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

fn number(table: &Table, key: &str) -> Option<f64> {
    let value = table.get(key)?;
    value.as_float().or(value.as_integer().map(|whole| whole as f64))
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
