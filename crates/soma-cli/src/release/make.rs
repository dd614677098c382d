//! The steps of a release: read, prepare, add noise, note what is spent, write.

use std::path::Path;

use soma::error::{counted, rounded};

use super::data::Data;
use super::last::{Unpublished, count_and_publish};
use super::ledger::{Entry, Terms};
use super::prepare::{Preparation, Refused, prepare};
use super::publish::{Guarantee, Total};
use super::{Args, ledger, noise, out, spent};
use crate::exit::{self, Failed, Outcome};
use crate::spec_file;

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    let book = ledger::path(&args.data);
    out::check(&args.out, &[&args.data, &args.spec, &book], args.again, "--again")
        .map_err(Failed::Input)?;
    let data = Data::read(&args.data).map_err(Failed::Input)?;
    let before = ledger::before(&book, &data.digest()).map_err(Failed::Input)?;
    spent::check_first(&before, args.again, "--again").map_err(Failed::Input)?;
    let prepared = match prepare(&text, &data, args.unsafe_diagnostics) {
        Ok(prepared) => prepared,
        Err(refused) => return Err(not_prepared(refused, &args, &data)),
    };
    let noisy = prepared.parts.iter().map(|part| {
        noise::release(part.noise, part.scale, part.granularity, part.sensitivity, &part.answers)
    });
    let noisy: Vec<_> = noisy.collect::<Result<_, _>>().map_err(Failed::Input)?;
    let guarantees: Vec<Guarantee> = noisy.iter().map(|(_, guarantee)| *guarantee).collect();
    let (published, total) = prepared.publish(noisy).map_err(Failed::Input)?;
    let entry = prepared.entry(&args.out, total);
    let entry = Entry { unsafe_diagnostics: args.unsafe_diagnostics, ..entry };
    let terms = Terms { again: args.again, option: "--again", budget: prepared.budget };
    let done = count_and_publish(&published, &entry, Some(&args.out), Some(&book), terms);
    let before = done.map_err(|why| match why {
        Unpublished::Refused(message) => Failed::Input(message),
        Unpublished::Unwritten(message) => Failed::Run(message),
    })?;
    if let Some(warning) = spent::warning(&before, &entry) {
        eprintln!("warning: {warning}");
    }
    if args.unsafe_diagnostics {
        eprintln!("confidential, not to be published, and noted in {}:", book.display());
        for (name, count) in &prepared.clamped {
            let were = if *count == 1 { "was" } else { "were" };
            eprintln!("  {} of {name} {were} clamped", counted(*count, "value"));
        }
    }
    exit::print(&said(&prepared, &guarantees, total, &args.out))
}

/// The failure of data or a spec that cannot be released; a message with confidential numbers is
/// noted too.
fn not_prepared(refused: Refused, args: &Args, data: &Data) -> Failed {
    if args.unsafe_diagnostics {
        let entry = Entry::now(Path::new(""), "", Total::default(), &data.digest());
        let entry = Entry { unsafe_diagnostics: true, ..entry };
        if let Err(error) = ledger::note(&ledger::path(&args.data), &entry) {
            return Failed::Run(error);
        }
    }
    match refused {
        Refused::Spec(error, text) => spec_file::bad(&args.spec, &text, *error),
        Refused::Input(message) => Failed::Input(message),
    }
}

/// What was released, in lines.
fn said(made: &Preparation, guarantees: &[Guarantee], total: Total, out: &Path) -> String {
    let mut lines = vec![format!("record: {}", made.record())];
    for (part, own) in made.parts.iter().zip(guarantees) {
        let name = if part.name.is_empty() { "release" } else { &part.name };
        let guarantee = Total::of(std::iter::once(*own)).said();
        let (values, noise) = (counted(part.answers.len(), "value"), part.noise.name());
        lines.push(format!(
            "{name}: {values}, {noise} noise of scale {}, {guarantee}",
            rounded(part.scale)
        ));
    }
    lines.push(format!("total: {}, by OpenDP's privacy map", total.said()));
    lines.push(format!("written to {}", out.display()));
    lines.join("\n")
}
