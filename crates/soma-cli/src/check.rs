//! `soma check`: validates a spec and describes it.

mod alone;
mod draft;

use std::path::PathBuf;

use soma::chain::Problem;
use soma::error::{listed, rounded};
use soma::model::{Computed, MOST_COMPUTED};
use soma::release::mechanism::Neighbours;
use soma::release::potential::Norm;
use soma::release::query::Sensitivity;
use soma::release::{Part, Release};
use soma::sensitivity::{self, Reached};
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
        Err(error) if error.invalid.field.ends_with("statistics") && alone::is_of_text(&text) => {
            alone::describe(&text)
        }
        Err(_) if draft::is_draft(&text) => draft::describe(path, &text)?,
        Err(error) => return Err(spec_file::bad(path, &text, error)),
    };
    exit::print(&format!("{}: no problems found\n{said}", path.display()))
}

fn rest(spec: &Spec) -> String {
    let problem = &spec.problem;
    let outputs = outputs(problem);
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
    let parts = problem.release().published_parts();
    let searched: String = parts
        .iter()
        .filter_map(|part| searched(problem, part))
        .map(|said| format!("\n{said}"))
        .collect();
    let of_part = |part: &Part| part.query().describe().map(|text| named(part, text));
    let texts: String = std::iter::once(problem.model().describe())
        .chain(parts.iter().map(of_part))
        .flatten()
        .map(|text| format!("\n\n{}", text.trim_end()))
        .collect();
    let kind = problem.model().kind();
    let left_out = left_out(problem);
    format!("model    {kind}{fixed}; draws of {outputs}{left_out}\nsampler  {run}{searched}{texts}")
}

/// The quantities of a draw: the first of each kind, and all that `[derived]` names.
fn outputs(problem: &Problem) -> String {
    let computed = problem.computed().map_or(&[][..], Computed::names);
    let derived = problem.derived_names();
    let kinds = [listed(&problem.plain_outputs()), listed(computed)];
    let kinds = kinds.into_iter().chain([derived[computed.len()..].join(", ")]);
    kinds.filter(|kind| !kind.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The names that the text of the model computes and that are no outputs, as they have too many
/// numbers.
fn left_out(problem: &Problem) -> String {
    let all = problem.computed().map_or(&[][..], Computed::left_out);
    let said = |(name, count): &(String, usize)| {
        format!(
            "\ncomputed {name} has {count} numbers, more than {MOST_COMPUTED}, and is left out of the \
             draws; outputs = [\"{name}\"] in [model] takes it in"
        )
    };
    all.iter().map(said).collect()
}

/// What is said of a part, after its name where it has one.
fn named(part: &Part, said: String) -> String {
    match part.name() {
        "" => said,
        name => format!("{name}: {said}"),
    }
}

/// For statistics as text, the sensitivity that interval arithmetic proves beside what a search for
/// records that move the sum most reaches: how loose the first may be.
fn searched(problem: &Problem, part: &Part) -> Option<String> {
    part.query().describe()?;
    let model = problem.record_model();
    let mut theta = vec![0.0; model.parameters().len()];
    let draw = |rng: &mut soma::rng::Rng| {
        model.sample_prior(&mut theta, rng)?;
        let mut record = vec![0.0; model.record_dim()];
        model.propose(&theta, &mut record, rng)?;
        sensitivity::stretched(&mut record, |record| model.supports(record), rng);
        Ok(record)
    };
    let query = part.query().as_ref();
    let found = sensitivity::search(query, draw, |record| model.supports(record), 1).ok()?;
    let (replace, presence) = (query.sensitivity(), query.sensitivity_to_presence());
    let said = |stated: Sensitivity, found: Sensitivity| {
        let [l1, l2] = [stated.l1, stated.l2].map(rounded);
        let [reached_l1, reached_l2] = [found.l1, found.l2].map(rounded);
        format!("l1 {l1} (a search reaches {reached_l1}), l2 {l2} ({reached_l2})")
    };
    let said = format!(
        "a record replaced moves the sum by {}; added or removed by {}",
        said(replace, found.replace),
        said(presence, found.add_remove)
    );
    let loose = loose(part, found).map(|said| format!("\nwarning  {}", named(part, said)));
    Some(format!("moves    {}{}", named(part, said), loose.unwrap_or_default()))
}

/// How much more than the search finds the bound may be before it is worth a warning.
const LOOSE: f64 = 1.05;

/// The warning that a budget was divided into a bound that may be loose: then the curator may have
/// used a smaller sensitivity, and with it less noise.
fn loose(part: &Part, found: Reached) -> Option<String> {
    let mechanism = part.mechanism()?;
    let source = mechanism.source().filter(|source| source.sensitivity.is_none())?;
    let bound = source.neighbours.sensitivity(part.query().as_ref());
    let found = match source.neighbours {
        Neighbours::Replace => found.replace,
        Neighbours::AddRemove => found.add_remove,
    };
    let (norm, bound, found) = match mechanism.noise().law().sensitivity_norm()? {
        Norm::L1 => ("l1", bound.l1, found.l1),
        Norm::L2 => ("l2", bound.l2, found.l2),
    };
    (bound > LOOSE * found).then(|| {
        format!(
            "the scale follows from {} and the bound {norm} {}, and a search finds {} only; if the \
             curator used a smaller sensitivity, write `sensitivity = ...` beside it, or `scale = \
             ...` in its place",
            source.budget,
            rounded(bound),
            rounded(found)
        )
    })
}
