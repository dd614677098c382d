//! The fits of a batch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use soma::chain::Settings;
use soma::spec::Sampler;
use soma_store::{Batch, Manifest, PlannedFit};

use super::table::{self, Row};
use crate::exit::{Failed, Outcome};
use crate::fit::{self, Args};
use crate::{memory, spec_file};

/// The fits of the command line, and those already in the folder. All specs are read before the
/// first is run.
pub fn plan(args: &Args) -> Result<Vec<PlannedFit>, Failed> {
    let refused = |option: &str, why: &str| Err(Failed::Input(format!("--{option}: {why}")));
    if args.sampler.is_certified() {
        return refused("warmup", "`certified` is for one spec at a time. Allowed: a number.");
    }
    if args.chains_from.is_some() {
        return refused("chains-from", "is for one spec at a time. Allowed: one spec.");
    }
    let mut fits = stored(args)?;
    let mut places: HashMap<String, (usize, Option<String>)> =
        fits.iter().enumerate().map(|(place, fit)| (fit.name.clone(), (place, None))).collect();
    for row in given(args)? {
        let (fit, from) = (read(args, &row)?, row.place);
        match places.get_mut(&fit.name) {
            Some((_, Some(other))) => {
                return Err(Failed::Input(format!(
                    "{from}: the name of the fit is {:?}, and so is that of {other}. Allowed: \
                     different names; a fit has the name of its file, or of its row.",
                    fit.name
                )));
            }
            Some((place, seen)) => {
                if !soma::spec::same(&fits[*place].spec, &fit.spec) {
                    return Err(Failed::Input(format!(
                        "{from}: the folder holds a fit {:?} of another spec. Allowed: the same \
                         spec, or another folder.",
                        fit.name
                    )));
                }
                *seen = Some(from);
            }
            None => {
                places.insert(fit.name.clone(), (fits.len(), Some(from)));
                fits.push(fit);
            }
        }
    }
    Ok(fits)
}

/// The specs of the command line: the rows of a table, or files.
fn given(args: &Args) -> Result<Vec<Row>, Failed> {
    match (&args.releases, &args.specs[..]) {
        (Some(releases), [template]) => table::rows(&spec_file::text(template)?, releases),
        (Some(_), specs) => Err(Failed::Input(format!(
            "--releases: a table needs one spec (given: {} of them). Allowed: one spec, which has \
             what the releases share.",
            specs.len()
        ))),
        (None, specs) => paths(specs)?.iter().map(|path| file(path)).collect(),
    }
}

/// The spec in a file.
fn file(path: &Path) -> Result<Row, Failed> {
    Ok(Row {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        place: path.display().to_string(),
        spec: spec_file::text(path)?,
    })
}

/// The files of the command line: specs, and those in folders, in the order of their names.
fn paths(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failed> {
    let mut paths = Vec::new();
    for path in given {
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let unread = |error| Failed::Input(format!("{}: {error}", path.display()));
        let entries: Result<Vec<_>, _> = std::fs::read_dir(path).map_err(unread)?.collect();
        let entries = entries.map_err(unread)?.into_iter().map(|entry| entry.path());
        let mut specs: Vec<PathBuf> =
            entries.filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
        if specs.is_empty() {
            return Err(Failed::Input(format!(
                "{}: there is no spec in this folder. Allowed: files that end in .toml.",
                path.display()
            )));
        }
        specs.sort();
        paths.extend(specs);
    }
    Ok(paths)
}

fn read(args: &Args, row: &Row) -> Result<PlannedFit, Failed> {
    let Row { name, place, spec: text } = row;
    let spec = spec_file::parse(Path::new(place), text)?;
    let settings = fit::settings(&spec, args.sampler.sampler())?;
    memory::check(&spec.problem, &settings, args.threads.count(), args.out.is_some())?;
    if !Batch::is_name(name) {
        return Err(Failed::Input(format!(
            "{place}: {name:?} cannot be the name of a fit. Allowed: a name that a folder can have."
        )));
    }
    Ok(PlannedFit { name: name.clone(), spec: text.clone(), settings })
}

/// The fits in the folder, with the options of the command line.
fn stored(args: &Args) -> Result<Vec<PlannedFit>, Failed> {
    let Some(folder) = &args.out else { return Ok(Vec::new()) };
    let unfit = |problem: &str| Err(Failed::Input(format!("{} {problem}", folder.display())));
    if folder.join(Manifest::FILE).exists() {
        return unfit("holds a run of one spec; choose another folder for a batch");
    }
    if !folder.join(Batch::FILE).exists() {
        return Ok(Vec::new());
    }
    if !args.resume {
        return unfit("holds a batch already; resume it (--resume), or choose another folder");
    }
    let given = args.sampler.sampler();
    let mut fits = Batch::read(folder)?.fits;
    fits.iter_mut().try_for_each(|fit| resumed(fit, given))?;
    Ok(fits)
}

/// Applies the options of the command line to a stored fit: more draws, and nothing else.
fn resumed(fit: &mut PlannedFit, given: Sampler) -> Outcome {
    let wrong = |problem: String| Err(Failed::Input(format!("the fit {:?}: {problem}", fit.name)));
    let spec = match soma::spec::Spec::parse(&fit.spec) {
        Ok(spec) => spec,
        Err(error) => return wrong(error.to_string()),
    };
    let begun = &fit.settings;
    let wanted = Sampler::from(begun).overridden_by(given).settings(spec.problem.release().n());
    let wanted = match wanted.and_then(|s| s.check(&spec.problem).map(|()| s)) {
        Ok(wanted) => wanted,
        Err(invalid) => return wrong(invalid.to_string()),
    };
    let is_same = *begun == Settings { draws: begun.draws, ..wanted.clone() };
    if !is_same || wanted.draws < begun.draws {
        return wrong(
            "the batch was begun with other settings. Allowed: the same, or more draws.".into(),
        );
    }
    fit.settings = wanted;
    Ok(())
}
