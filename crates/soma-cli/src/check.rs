//! `soma check`: what a spec says, and what is wrong with it.

use std::path::PathBuf;

use soma::error::listed;
use soma::release::{Aggregate, Release, SizePrior, Total};
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
    let aggregate = match release.aggregate() {
        Aggregate::Sum => "sum",
        Aggregate::Mean => "mean",
    };
    let (query, noise) = (release.query(), release.mechanism().noise().name());
    let scales = release.mechanism().scales();
    let scale = if scales.windows(2).all(|pair| pair[0] == pair[1]) {
        format!("scale {}", scales[0])
    } else {
        format!("scales {}", listed(&scales.iter().map(f64::to_string).collect::<Vec<_>>()))
    };
    format!(
        "release  the {aggregate} over {} records of a {} query ({}), {noise} noise of {scale}",
        size(release),
        query.kind(),
        listed(&query.labels()),
    )
}

/// The number of records, or that it is unknown.
fn size(release: &Release) -> String {
    match release.total() {
        Total::Known(n) => format!("n = {n}"),
        Total::Unknown(SizePrior::Flat) => "an unknown number of".into(),
        Total::Unknown(SizePrior::Poisson { mean }) => {
            format!("an unknown number (prior Poisson, mean {mean}) of")
        }
        Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
            format!("an unknown number (prior Poisson-gamma, shape {shape}, rate {rate}) of")
        }
    }
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
