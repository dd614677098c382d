//! `soma import`: the output of another tool, as the table `[release]` of a spec.
//!
//! One file for each tool. Scales are taken from the output of the tool and never recomputed.

mod cells;
mod census_gls;
mod census_nmf;
pub(crate) mod frame;
mod opendp;
mod pipelinedp;
mod table;
mod write;

use std::path::PathBuf;

use clap::ValueEnum;
use soma::release::Release;
use soma::release::mechanism::Noise;
use soma::spec::choices;

use crate::exit::{self, Failed, Outcome};
use crate::spec_file;
use frame::Frame;
use write::Part;

/// The tool that wrote the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// OpenDP's Polars front: query.summarize() and query.release().collect(), two files.
    Opendp,
    /// PipelineDP, with output_noise_stddev=True.
    Pipelinedp,
    /// A noisy measurement file of the US Census.
    CensusNmf,
    /// Estimates of the US Census: geocode, query, estimate, std_dev.
    CensusGls,
    /// A table of noisy counts: labels, value, and scale, variance or std_dev.
    Table,
}

/// Information that is not in the tables.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// The number of records, or unknown; unknown, if not given.
    #[arg(long, value_name = "N")]
    pub n: Option<String>,
    /// The range that a column was clamped to.
    #[arg(long, value_name = "COLUMN=LOW,HIGH", value_parser = ranged)]
    pub clamp: Vec<(String, Vec<f64>)>,
    /// The candidates that the quantile of a column was chosen among.
    #[arg(long, value_name = "COLUMN=A,B,...", value_parser = listed)]
    pub candidates: Vec<(String, Vec<f64>)>,
    /// The max_length of OpenDP's margin, for a quantile at another place than a half, a quarter and so
    /// on.
    #[arg(long, value_name = "M")]
    pub max_length: Option<u64>,
    /// All groups that there could be; those that are not in the table were suppressed.
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// The columns (of census files: the queries) to import; all, if not given.
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// The kind of noise, where the tool does not print it.
    #[arg(long, value_name = "KIND")]
    pub noise: Option<String>,
    /// The scale of the noise, where the table has no column of it.
    #[arg(long, value_name = "B")]
    pub scale: Option<f64>,
    /// The noisy count up to which none is shown, where the tool does not print it.
    #[arg(long, value_name = "T")]
    pub threshold: Option<f64>,
    /// The geographic unit to import, of a file with several.
    #[arg(long, value_name = "G")]
    pub geocode: Option<String>,
}

/// Reads what another tool printed, and prints the table [release] of a spec. Scales are taken as
/// the tool prints them. Complete it with a model.
#[derive(clap::Args)]
pub struct Args {
    /// Whose tables they are.
    tool: Tool,
    /// The tables, as CSV.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Write here instead of to standard output.
    #[arg(long, value_name = "RELEASE.toml")]
    out: Option<PathBuf>,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let named = |path: &PathBuf| {
        if !path.exists() {
            return Err(Failed::Input(format!(
                "{}: there is no such file. Allowed: the path of a table, as the tool wrote it.",
                path.display()
            )));
        }
        Ok((path.display().to_string(), spec_file::text(path)?))
    };
    let tables = args.files.iter().map(named).collect::<Result<Vec<_>, Failed>>()?;
    let text = release(args.tool, &tables, &args.options).map_err(Failed::Input)?;
    match args.out {
        None => exit::print(text.trim_end()),
        Some(path) => std::fs::write(&path, text)
            .map_err(|error| Failed::Run(format!("{}: {error}", path.display()))),
    }
}

/// The table `[release]` from tables as CSV, each with its name for errors.
pub fn release(
    tool: Tool,
    tables: &[(String, String)],
    options: &Options,
) -> Result<String, String> {
    let frames: Vec<Frame> =
        tables.iter().map(|(name, text)| Frame::parse(name, text)).collect::<Result<_, _>>()?;
    options.check(&columns(tool, &frames))?;
    let Imported { parts, remarks } = match tool {
        Tool::Opendp => opendp::read(&frames, options),
        Tool::Pipelinedp => pipelinedp::read(&frames, options),
        Tool::CensusNmf => census_nmf::read(&frames, options),
        Tool::CensusGls => census_gls::read(&frames, options),
        Tool::Table => table::read(&frames, options),
    }?;
    let text = write::release(options.n.as_deref(), &parts, &remarks);
    // Statistics as text can be checked with a model only.
    if parts.iter().all(|part| part.query.starts_with("query")) {
        Release::parse(&text).map_err(|error| {
            let mut invalid = error.invalid;
            if invalid.field == "release.n" {
                invalid.allowed.push_str("; or --n N, where it is public");
            }
            invalid.to_string()
        })?;
    }
    Ok(text)
}

/// The columns that options may name; for census files, the queries.
fn columns(tool: Tool, frames: &[Frame]) -> Vec<String> {
    let queries = |name: &str| {
        let of = |frame: &Frame| {
            let column = frame.find(name);
            frame.rows.iter().filter_map(|row| Some(row[column?].clone())).collect::<Vec<_>>()
        };
        frames.iter().flat_map(of).collect()
    };
    let mut all: Vec<String> = match tool {
        Tool::CensusNmf => queries("query_name"),
        Tool::CensusGls => queries("query"),
        Tool::Opendp | Tool::Pipelinedp | Tool::Table => {
            let results = frames.iter().filter(|frame| frame.find("distribution").is_none());
            results.flat_map(|frame| frame.columns.clone()).collect()
        }
    };
    all.sort();
    all.dedup();
    all
}

/// The result of an importer.
struct Imported {
    parts: Vec<Part>,
    remarks: Vec<String>,
}

impl Options {
    /// An error if an option names a column that is not there.
    fn check(&self, columns: &[String]) -> Result<(), String> {
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let clamps = self.clamp.iter().map(|(name, _)| ("clamp", name));
        let candidates = self.candidates.iter().map(|(name, _)| ("candidates", name));
        let own = self.columns.iter().map(|name| ("columns", name));
        let unknown = |(_, name): &(&str, &String)| !names.contains(&name.as_str());
        match clamps.chain(candidates).chain(own).find(unknown) {
            Some((option, name)) if !names.is_empty() => Err(format!(
                "{option}: there is no such column (given: {name}). Allowed: {}.",
                soma::spec::choices(name, &names)
            )),
            _ => Ok(()),
        }
    }

    fn clamp_of(&self, column: &str) -> Result<&[f64], String> {
        named(&self.clamp, column).ok_or_else(|| {
            format!(
                "clamp: the range that {column} was clamped to is not printed (given: nothing). \
                 Allowed: --clamp {column}=LOW,HIGH."
            )
        })
    }

    fn candidates_of(&self, column: &str) -> Result<&[f64], String> {
        named(&self.candidates, column).ok_or_else(|| {
            format!(
                "candidates: those of the quantile of {column} are not printed (given: nothing). \
                 Allowed: --candidates {column}=A,B,..."
            )
        })
    }
}

fn named<'a>(all: &'a [(String, Vec<f64>)], column: &str) -> Option<&'a [f64]> {
    all.iter().find(|(name, _)| name == column).map(|(_, numbers)| &numbers[..])
}

/// A clamped variable: the query of a record of this number alone, or a statistic as text if a
/// record has several.
fn variable(column: &str, several: bool, options: &Options) -> Result<String, String> {
    let clamp = options.clamp_of(column)?;
    if several {
        let text = format!("clamp({column}, {:?}, {:?})", clamp[0], clamp[1]);
        return Ok(format!("statistics = [{}]", write::quoted(&text)));
    }
    Ok(format!("query = {{ kind = \"mean\", clamp = {} }}", write::list(clamp)))
}

/// The key of a mechanism from standard deviations of the noise, with its numbers: the variance of
/// discrete noise, whose scale is no multiple of its standard deviation.
fn law_of_sd(noise: Noise, sd: &[f64]) -> (&'static str, Vec<f64>) {
    if noise.is_discrete() {
        return ("variance", sd.iter().map(|sd| sd * sd).collect());
    }
    let of_unit_scale = noise.law().exact_variance(1.0).sqrt();
    ("scale", sd.iter().map(|sd| sd / of_unit_scale).collect())
}

/// The noise of this name.
pub(crate) fn noise_named(name: &str) -> Result<Noise, String> {
    Noise::named(name).ok_or_else(|| {
        format!(
            "noise: there is no such kind (given: {name:?}). Allowed: {}.",
            choices(name, &Noise::ALL.map(Noise::name))
        )
    })
}

/// The `kind` of a mechanism, as TOML.
fn kind_of(noise: Noise) -> (&'static str, String) {
    ("kind", format!("{:?}", noise.name()))
}

fn one_frame(frames: &[Frame]) -> Result<&Frame, String> {
    match frames {
        [frame] => Ok(frame),
        _ => {
            Err(format!("this tool prints one table (given: {}). Allowed: one file.", frames.len()))
        }
    }
}

/// The rows of the one geographic unit, and its code.
fn of_geocode(frame: &Frame, options: &Options) -> Result<(String, Vec<usize>), String> {
    let column = frame.need("geocode")?;
    let mut codes: Vec<&String> = frame.rows.iter().map(|row| &row[column]).collect();
    codes.sort();
    codes.dedup();
    let code = match (&options.geocode, &codes[..]) {
        (None, [only]) => only,
        (Some(code), codes) if codes.contains(&code) => code,
        (given, codes) => {
            let given = given.as_deref().unwrap_or("nothing");
            let some: Vec<&str> = codes.iter().take(5).map(|code| code.as_str()).collect();
            return Err(format!(
                "geocode: {} has {} of them (given: {given}). Allowed: --geocode with one, such as \
                 {}.",
                frame.source,
                codes.len(),
                some.join(", ")
            ));
        }
    };
    let rows = (0..frame.rows.len()).filter(|&row| frame.rows[row][column] == *code).collect();
    Ok((code.clone(), rows))
}

/// `COLUMN=A,B,...`.
fn listed(text: &str) -> Result<(String, Vec<f64>), String> {
    let bad = || "must be a column, =, and numbers with commas between them".to_string();
    let (column, numbers) = text.split_once('=').ok_or_else(bad)?;
    let numbers: Option<Vec<f64>> =
        numbers.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers.map(|numbers| (column.to_string(), numbers)).ok_or_else(bad)
}

/// `COLUMN=LOW,HIGH`.
fn ranged(text: &str) -> Result<(String, Vec<f64>), String> {
    let (column, numbers) = listed(text)?;
    match numbers[..] {
        [low, high] if low < high => Ok((column, numbers)),
        _ => Err("must be a column, =, and two numbers, LOW,HIGH with LOW below HIGH".to_string()),
    }
}
