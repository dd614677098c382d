//! `soma check`: validates a spec and describes it.

use std::path::PathBuf;

use soma::chain::Problem;
use soma::error::listed;
use soma::release::mechanism::{Neighbours, Publishing};
use soma::release::potential::Norm;
use soma::release::query::Sensitivity;
use soma::release::{Aggregate, Mechanism, Part, PartLaw, Release, SizePrior, Total};
use soma::sensitivity;
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
    let parts = release.published_parts();
    let said: Vec<String> = match parts {
        [part] => vec![self::part(part, release, &format!("{} records", size(release)))],
        _ => {
            let named =
                |part: &Part| format!("  {}: {}", part.name(), self::part(part, release, "them"));
            let head = format!("{} parts about {} records", parts.len(), size(release));
            std::iter::once(head).chain(parts.iter().map(named)).collect()
        }
    };
    format!("release  {}", said.join("\n"))
}

/// The description of a part, in a sentence.
fn part(part: &Part, release: &Release, records: &str) -> String {
    let query = part.query();
    let of = format!("of a {} query ({})", query.kind(), listed(&query.labels()));
    let aggregate = match part.aggregate() {
        Aggregate::Sum => "sum",
        Aggregate::Mean => "mean",
    };
    let law = match part.law() {
        PartLaw::Independent(mechanism) => {
            format!("{}{}", noise(mechanism), guarantee(part, mechanism, release))
        }
        PartLaw::Joint(law) => return format!("{}, over {records} {of}", law.describe()),
    };
    format!("the {aggregate} over {records} {of}, {law}")
}

/// The epsilon or rho that follows from the scale and the sensitivity of the query, if all values
/// have the same scale.
fn guarantee(part: &Part, mechanism: &Mechanism, release: &Release) -> String {
    let (query, scales) = (part.query(), mechanism.scales());
    let n = release.total().known();
    let unit = match part.aggregate() {
        Aggregate::Sum => 1.0,
        Aggregate::Mean => n.map_or(f64::NAN, |n| n as f64),
    };
    let spent = |neighbours: Neighbours, words: &str| {
        let sensitivity = neighbours.sensitivity(query.as_ref());
        let (name, amount) = match mechanism.noise().law().sensitivity_norm() {
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

/// The noise, its scale and the post-processing.
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
    let searched = searched(problem).map_or(String::new(), |said| format!("\n{said}"));
    let texts = [problem.model().describe(), problem.release().query().describe()];
    let texts: String =
        texts.iter().flatten().map(|text| format!("\n\n{}", text.trim_end())).collect();
    let kind = problem.model().kind();
    format!("model    {kind}{fixed}; draws of {outputs}\nsampler  {run}{searched}{texts}")
}

/// For statistics as text, the sensitivity that interval arithmetic proves beside what a search for
/// records that move the sum most reaches: how loose the first may be.
fn searched(problem: &Problem) -> Option<String> {
    let model = problem.record_model();
    let text = |part: &&Part| part.query().describe().is_some();
    let part = problem.release().published_parts().iter().find(text)?;
    let mut theta = vec![0.0; model.parameters().len()];
    let draw = |rng: &mut soma::rng::Rng| {
        model.sample_prior(&mut theta, rng)?;
        let mut record = vec![0.0; model.record_dim()];
        model.propose(&theta, &mut record, rng)?;
        let mut far = record.clone();
        sensitivity::stretched(&mut far, rng);
        Ok(if model.supports(&far) { far } else { record })
    };
    let query = part.query().as_ref();
    let found = sensitivity::search(query, draw, |record| model.supports(record), 1).ok()?;
    let (replace, presence) = (query.sensitivity(), query.sensitivity_to_presence());
    let said = |stated: Sensitivity, found: Sensitivity| {
        format!(
            "l1 {:.4} (a search reaches {:.4}), l2 {:.4} ({:.4})",
            stated.l1, found.l1, stated.l2, found.l2
        )
    };
    Some(format!(
        "moves    a record replaced {}; added or removed {}",
        said(replace, found.replace),
        said(presence, found.add_remove)
    ))
}
