//! `soma check`: what a spec says, and what is wrong with it.

use std::path::PathBuf;

use soma::error::listed;
use soma::release::mechanism::Publishing;
use soma::release::{Aggregate, Mechanism, Part, PartLaw, Release};
use soma::spec::Spec;

use crate::args::ThreadArgs;
use crate::exit::{self, Outcome};
use crate::{memory, spec_file};

/// Reads a spec and prints what it says, without a run.
#[derive(clap::Args)]
pub struct Args {
    /// The spec; or a file with the table [release] alone, as a curator publishes it.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let path = &args.spec;
    let text = spec_file::text(path)?;
    let said = match Spec::parse(&text) {
        Ok(spec) => format!("{}\n{}", release(spec.problem.release()), rest(&spec)),
        Err(error) if error.invalid.field == "model" && soma::spec::is_release(&text) => {
            let alone =
                Release::parse(&text).map_err(|error| spec_file::bad(path, &text, error))?;
            format!(
                "{}\nmodel    none: this is a release alone; `soma fit` needs a model",
                release(&alone)
            )
        }
        Err(error) => return Err(spec_file::bad(path, &text, error)),
    };
    exit::print(&format!("{}: no problems found\n{said}", path.display()))
}

fn release(release: &Release) -> String {
    let records = match release.slotted() {
        Some(slotted) => format!("an unknown number of records, at most {},", slotted.slots()),
        None => format!("n = {} records", release.n()),
    };
    let parts = release.parts();
    let said: Vec<String> = match parts {
        [part] => vec![self::part(part, &records)],
        _ => {
            let named = |part: &Part| format!("  {}: {}", part.name(), self::part(part, "them"));
            let head = format!("{} parts about {records}", parts.len());
            std::iter::once(head).chain(parts.iter().map(named)).collect()
        }
    };
    format!("release  {}", said.join("\n"))
}

/// What a part is, in a sentence.
fn part(part: &Part, records: &str) -> String {
    let query = part.query();
    let of = format!("of a {} query ({})", query.kind(), listed(&query.labels()));
    let aggregate = match part.aggregate() {
        Aggregate::Sum => "sum",
        Aggregate::Mean => "mean",
    };
    let law = match part.law() {
        PartLaw::Independent(mechanism) => noise(mechanism),
        PartLaw::Joint(law) => law.name().to_string(),
    };
    format!("the {aggregate} over {records} {of}, {law}")
}

/// The noise, its scale and what was done to the noisy values.
fn noise(mechanism: &Mechanism) -> String {
    let (noise, scales) = (mechanism.noise().name(), mechanism.scales());
    let scale = if scales.windows(2).all(|pair| pair[0] == pair[1]) {
        format!("scale {}", scales[0])
    } else {
        format!("scales {}", listed(&scales.iter().map(f64::to_string).collect::<Vec<_>>()))
    };
    let Publishing { granularity, within, rounding, low, high } = mechanism.publishing();
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

fn rest(spec: &Spec) -> String {
    let problem = &spec.problem;
    let outputs = listed(&problem.outputs());
    let fixed = if problem.fixed().is_some() { " with fixed parameters" } else { "" };
    // Parsing has checked the settings.
    let run = spec.settings().map_or_else(
        |invalid| invalid.to_string(),
        |settings| {
            let threads = ThreadArgs::default().count();
            format!(
                "{} chains, {} iterations of warm-up, {} draws, kernel {}\nengine   {}\nmemory   {}",
                settings.chains,
                settings.warmup,
                settings.draws,
                settings.kernel.name(),
                settings.engine_reason(problem),
                memory::line(problem, &settings, threads),
            )
        },
    );
    let texts = [problem.model().describe(), problem.release().query().describe()];
    let texts: String =
        texts.iter().flatten().map(|text| format!("\n\n{}", text.trim_end())).collect();
    format!("model    {}{fixed}; draws of {outputs}\nsampler  {run}{texts}", problem.model().kind())
}
