//! A spec: a problem and the settings of its run, as text written by a user.
//!
//! A spec is TOML with the tables `[release]`, `[model]`, `[sampler]` and `[output]`; a file with
//! `[release]` alone is what a curator publishes; a spec of a curator has `[data]` and `[plan]` too.
//! Reading is pure: it takes a text and returns values, or an error with its position in the text. To add a query or a model, add a line to the
//! list in `query.rs` or `model.rs`, and a function that reads its keys.

mod data;
mod derived;
mod error;
mod fixed;
mod format;
mod joint;
mod mechanism;
mod model;
mod output;
mod plan;
mod prior;
mod query;
mod release;
mod resized;
mod sampler;
mod separate;
mod size;
mod text;
mod value;
mod words;

use std::sync::Arc;

use toml::Spanned;
use toml::de::DeTable;

pub use data::{Columns, Limit};
pub use derived::{comparisons, derived_names};
pub use error::{MistakeInSpec, SpecError};
pub use format::FORMAT;
pub use output::Output;
pub use plan::PlanOptions;
pub use resized::with_n;
pub use sampler::{MOST_CHAINS, Sampler};
pub use separate::{release_file, with_release};

use crate::chain::{Problem, Settings};
use crate::error::Invalid;
use crate::release::{Query, Release};
use release::Queries;
use value::Table;
pub use words::choices;

/// The contents of a spec.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The release and the model.
    pub problem: Problem,
    /// The settings of the run that the spec gives.
    pub sampler: Sampler,
    /// What is stored in addition to the draws.
    pub output: Output,
}

impl Spec {
    /// Reads a spec.
    ///
    /// ```
    /// let spec = soma::spec::Spec::parse(r#"
    ///     [release]
    ///     n = 100
    ///     statistic = "mean"
    ///     values = [0.4]
    ///     query = { kind = "mean", clamp = [-5.0, 5.0] }
    ///     mechanism = { kind = "laplace", epsilon = 1.0 }
    ///
    ///     [model]
    ///     kind = "normal"
    ///     prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }
    /// "#).unwrap();
    /// assert_eq!(spec.problem.outputs(), ["mu", "sigma2"]);
    /// ```
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Spec::parse_with(text, None, None)
    }

    /// Reads a spec without the query of its release, which is given, since no text can name it.
    pub fn parse_for(text: &str, query: Arc<dyn Query>) -> Result<Self, SpecError> {
        Spec::parse_with(text, Some(query), None)
    }

    /// Reads the spec of a release that has not been made yet: `values` need not be there, and do not
    /// matter. `columns` is the number of columns of the data, from which queries that take one value
    /// for each column have their length.
    pub fn parse_unpublished(text: &str, columns: usize) -> Result<Self, SpecError> {
        Spec::parse_with(text, None, Some(columns))
    }

    fn parse_with(
        text: &str,
        own: Option<Arc<dyn Query>>,
        unpublished: Option<usize>,
    ) -> Result<Self, SpecError> {
        with_place(text, |root| {
            root.only(&[
                "release", "model", "sampler", "output", "derived", "format", "data", "plan",
            ])?;
            let example = "... below [model], as in `soma examples atus-female`";
            let model = root.get("model").map(|value| value.table(example)).transpose()?;
            let text = model.as_ref().map(text::model).transpose()?.flatten();
            let built_in = model.as_ref().and_then(model::variables);
            let queries = Queries { text: text.as_ref().or(built_in.as_ref()), own, unpublished };
            let release = read_release(root, &queries)?;
            let model = root.need("model", example)?.table(example)?;
            let problem = match text {
                Some(text) => model::with_text(&model, text, release)?,
                None => model::read(&model, release)?,
            };
            let problem = derived::add(root, problem)?;
            let sampler = read_sampler(root)?;
            let output = root.get("output").map(|value| Output::read(&value.table("a table")?));
            let output = output.transpose()?.unwrap_or_default();
            let stores_records = output.records_thin.is_some();
            let problem = if stores_records { problem.with_records() } else { problem };
            let spec = Spec { problem, sampler, output };
            spec.settings()?;
            Ok(spec)
        })
    }

    /// The settings of the run, with defaults for missing ones.
    pub fn settings(&self) -> Result<Settings, Invalid> {
        let settings = self.sampler.settings(self.problem.release().n())?;
        settings.check(&self.problem).map_err(|invalid| invalid.under("sampler"))?;
        Ok(settings)
    }
}

/// Whether two texts are equal as TOML, ignoring comments and layout.
pub fn same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<toml::Table>().ok();
    one == other || read(one).is_some_and(|table| read(other) == Some(table))
}

/// Whether a text has a table `[release]` and nothing else, as a curator publishes it.
pub fn is_release(text: &str) -> bool {
    let keys = DeTable::parse(text).map(|root| {
        let names = root.get_ref().keys().map(|key| key.get_ref().to_string());
        names.collect::<Vec<_>>()
    });
    keys.is_ok_and(|keys| {
        let mut tables = keys.iter().filter(|key| *key != "format");
        tables.next().is_some_and(|key| key == "release") && tables.next().is_none()
    })
}

impl Release {
    /// Reads the table `[release]` of a text: a curator's file, or a spec.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        with_place(text, |root| read_release(root, &Queries::default()))
    }

    /// Reads the table `[release]` of a release that has not been made yet: see
    /// [`Spec::parse_unpublished`].
    pub fn parse_unpublished(text: &str, columns: usize) -> Result<Self, SpecError> {
        let queries = Queries { unpublished: Some(columns), ..Queries::default() };
        with_place(text, |root| read_release(root, &queries))
    }

    /// Reads the table `[release]` of a text without its query, which is given, since no text can
    /// name it.
    pub fn parse_for(text: &str, query: Arc<dyn Query>) -> Result<Self, SpecError> {
        let queries = Queries { own: Some(query), text: None, unpublished: None };
        with_place(text, |root| read_release(root, &queries))
    }
}

impl Sampler {
    /// Reads the table `[sampler]` of a text, if present.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        with_place(text, read_sampler)
    }
}

fn read_release(root: &Table, queries: &Queries) -> Result<Release, Invalid> {
    format::check(root)?;
    release::read(&release_table(root)?, queries)
}

fn release_table<'a>(root: &Table<'a>) -> Result<Table<'a>, Invalid> {
    let example = "... below [release], as in `soma examples atus-female`";
    root.need("release", example)?.table(example)
}

fn read_sampler(root: &Table) -> Result<Sampler, Invalid> {
    match root.get("sampler") {
        Some(value) => Sampler::read(&value.table("a table")?),
        None => Ok(Sampler::default()),
    }
}

/// Parses `text`, and adds the position to the errors of `read`.
fn with_place<T>(
    text: &str,
    read: impl FnOnce(&Table) -> Result<T, Invalid>,
) -> Result<T, SpecError> {
    let root: Spanned<DeTable> = DeTable::parse(text).map_err(|error| {
        let allowed = "TOML: [tables], and lines such as key = value";
        let span = error.span().unwrap_or(0..0);
        let given = text.get(span.clone()).unwrap_or_default().lines().next().unwrap_or_default();
        let given = format!("{given:?}");
        let problem = format!("this is not TOML: {}", error.message().trim());
        SpecError::new(text, span, Invalid::new("spec", problem, given, allowed))
    })?;
    read(&Table::root(root.get_ref())).map_err(|invalid| SpecError::within(text, &root, invalid))
}
