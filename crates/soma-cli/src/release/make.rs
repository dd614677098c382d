//! The steps of a release: read, prepare, add noise, note what is spent, write.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::data::Data;
use super::prepare::{Preparation, Refused, prepare};
use super::publish::{Guarantee, Total};
use super::{Args, ledger, noise};
use crate::exit::{self, Failed, Outcome};
use crate::spec_file;

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    if args.out.exists() && !args.again {
        return Err(Failed::Input(format!(
            "{}: there is a release already, and another one spends its budget again. Allowed: \
             another file, or --again.",
            args.out.display()
        )));
    }
    let data = Data::read(&args.data).map_err(Failed::Input)?;
    let prepared = prepare(&text, &data, args.unsafe_diagnostics);
    let prepared = prepared.map_err(|refused| match refused {
        Refused::Spec(error, text) => spec_file::bad(&args.spec, &text, *error),
        Refused::Input(message) => Failed::Input(message),
    })?;
    let noisy = prepared.parts.iter().map(|part| {
        noise::release(part.noise, part.scale, part.granularity, part.sensitivity, &part.answers)
    });
    let noisy: Vec<_> = noisy.collect::<Result<_, _>>().map_err(Failed::Input)?;
    let guarantees: Vec<Guarantee> = noisy.iter().map(|(_, guarantee)| *guarantee).collect();
    let (published, total) = prepared.publish(noisy).map_err(Failed::Run)?;
    let ledger_path = ledger::path(&args.data);
    let before = ledger::read(&ledger_path).map_err(Failed::Input)?;
    // What is spent is on disk before anything is published.
    let entry = ledger::Entry::now(&args.out, prepared.neighbours.name(), total);
    ledger::add(&ledger_path, &entry).map_err(Failed::Run)?;
    write(&args.out, &published, args.again).map_err(Failed::Run)?;
    warn(&before, total);
    if args.unsafe_diagnostics {
        eprintln!("confidential, not to be published:");
        for (name, count) in &prepared.clamped {
            eprintln!("  {count} values of {name} were clamped");
        }
    }
    exit::print(&said(&prepared, &guarantees, total, &args.out))
}

/// Writes a file that is not there, or that may be written over.
fn write(path: &Path, text: &str, again: bool) -> Result<(), String> {
    let mut options = OpenOptions::new();
    options.write(true);
    if again {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

/// Says what had been spent before.
fn warn(before: &[ledger::Entry], total: Total) {
    if before.is_empty() {
        return;
    }
    let sum = before.iter().fold(total, |sum, entry| Total {
        epsilon: sum.epsilon + entry.epsilon,
        rho: sum.rho + entry.rho,
    });
    eprintln!(
        "warning: these data were released {} times before; all releases together spend {}",
        before.len(),
        sum.said()
    );
}

/// What was released, in lines.
fn said(made: &Preparation, guarantees: &[Guarantee], total: Total, out: &Path) -> String {
    let mut lines = Vec::new();
    for (part, own) in made.parts.iter().zip(guarantees) {
        let name = if part.name.is_empty() { "release" } else { &part.name };
        let guarantee = Total::of(std::iter::once(*own)).said();
        let (values, noise) = (part.answers.len(), part.noise.name());
        lines.push(format!(
            "{name}: {values} values, {noise} noise of scale {}, {guarantee}",
            part.scale
        ));
    }
    lines.push(format!("total: {}, by OpenDP's privacy map", total.said()));
    lines.push(format!("written to {}", out.display()));
    lines.join("\n")
}
