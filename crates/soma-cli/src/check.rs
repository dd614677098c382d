//! `soma check`: validates a spec and describes it.

use std::path::PathBuf;

use soma::error::listed;
use soma::release::Release;
use soma::spec::Spec;

use crate::args::ThreadArgs;
use crate::exit::{self, Outcome};
use crate::{memory, spec_file};

/// Reads a spec and describes it, without a run.
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
        Ok(spec) => format!("release  {}\n{}", spec.problem.release().describe(), rest(&spec)),
        Err(error) if error.invalid.field == "model" && soma::spec::is_release(&text) => {
            let alone =
                Release::parse(&text).map_err(|error| spec_file::bad(path, &text, error))?;
            format!(
                "release  {}\nmodel    none: this is a release alone; `soma fit` needs a model",
                alone.describe()
            )
        }
        Err(error) => return Err(spec_file::bad(path, &text, error)),
    };
    exit::print(&format!("{}: no problems found\n{said}", path.display()))
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
