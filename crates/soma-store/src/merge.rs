//! Merges folders with different chains of one run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checkpoint::Checkpoint;
use crate::part;
use crate::store::{checkpoint_name, refuse_a_run};
use crate::table::{DRAWS, RECORDS, Table};
use crate::{FolderLock, Manifest, Run, Status, StoreError, atomic};

/// Merges the runs in `parts` into a new run in `folder`: the same as a single run with all chains,
/// with the same draws, records and checkpoints, byte for byte. Times are summed.
///
/// The parts must be complete, of one spec and with the same settings (including the seed and the
/// number of draws), and their chains must be distinct and without a gap. On an error nothing is
/// changed.
pub fn merge(parts: &[PathBuf], folder: &Path) -> Result<Manifest, StoreError> {
    let mut runs: Vec<(&PathBuf, Manifest)> = Vec::new();
    for part in parts {
        // Opening a run checks all of its draws.
        runs.push((part, Run::open(part)?.manifest().clone()));
    }
    runs.sort_by_key(|(_, manifest)| manifest.first_chain);
    let manifest = joined(&runs)?;
    let mut all = Vec::new();
    for (part, of_part) in &runs {
        all.extend(files(part, of_part)?.into_iter().map(|file| (part.join(&file), file)));
    }
    let _lock = FolderLock::acquire(folder)?;
    refuse_a_run(folder)?;
    let with_records = manifest.records_thin.map(|_| RECORDS);
    for name in [DRAWS, crate::store::CHECKPOINTS].into_iter().chain(with_records) {
        atomic::make_folder(&folder.join(name))?;
    }
    for (from, file) in &all {
        copy(from, &folder.join(file))?;
    }
    manifest.write(folder)?;
    Ok(manifest)
}

/// The manifest of all parts, which are in the order of their chains.
fn joined(runs: &[(&PathBuf, Manifest)]) -> Result<Manifest, StoreError> {
    let [(first, begun), others @ ..] = runs else {
        let problem = "cannot be merged from no folders: name the folders to merge";
        return Err(StoreError::unfit(Path::new("a run"), problem));
    };
    let mut all = begun.clone();
    for (part, manifest) in runs {
        if manifest.status != Status::Complete {
            let problem = "holds a run that is not complete; `soma fit --resume` completes it";
            return Err(StoreError::unfit(part, problem));
        }
    }
    for (part, manifest) in others {
        let is_same = manifest.fingerprint() == begun.fingerprint()
            && manifest.settings.draws == begun.settings.draws;
        if !is_same {
            let problem = format!(
                "holds a run of another spec, or with other settings, than {}; chains of different \
                 posteriors cannot be joined",
                first.display()
            );
            return Err(StoreError::unfit(part, problem));
        }
        let (next, found) = (all.chains().end, manifest.first_chain);
        if found != next {
            let problem = if found < next {
                format!("holds chain {found}, which another folder holds too")
            } else {
                format!("begins with chain {found}, and no folder holds chain {next}")
            };
            return Err(StoreError::unfit(part, problem));
        }
        add(&mut all, manifest);
    }
    all.acceptance_rate = if all.moves == 0 { 0.0 } else { all.accepted as f64 / all.moves as f64 };
    Ok(all)
}

fn add(all: &mut Manifest, part: &Manifest) {
    all.settings.chains += part.settings.chains;
    all.chosen.extend(part.chosen.iter().cloned());
    all.theta_moves.extend(part.theta_moves.iter().cloned());
    all.draws.extend(&part.draws);
    all.iterations.extend(&part.iterations);
    all.moves = all.moves.saturating_add(part.moves);
    all.accepted = all.accepted.saturating_add(part.accepted);
    all.seconds_warmup += part.seconds_warmup;
    all.seconds_sampling += part.seconds_sampling;
}

/// The files of a run, by their names in its folder. Draws are checked when a run is opened; records
/// and checkpoints are checked here, so that no damage is copied.
fn files(folder: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = Vec::new();
    // The width of a record does not affect the names of files.
    let records = Table::records(Path::new(""), manifest, 1);
    for table in [Some(Table::draws(Path::new(""), manifest)), records].into_iter().flatten() {
        for (chain, &draws) in manifest.chains().zip(&manifest.draws) {
            files.extend(table.parts(table.rows(draws)).map(|(part, _)| table.path(chain, part)));
        }
    }
    files.iter().try_for_each(|file| part::check_seal(&folder.join(file)))?;
    for chain in manifest.chains() {
        let path = folder.join(checkpoint_name(chain));
        let found = Checkpoint::read(&path)?;
        let found = found.ok_or_else(|| Checkpoint::damaged(&path, "it is missing"))?;
        if (found.run.as_str(), found.chain) != (&manifest.fingerprint(), chain as u64) {
            return Err(Checkpoint::damaged(&path, "it belongs to another run or chain"));
        }
        files.push(checkpoint_name(chain));
    }
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut source = fs::File::open(from).map_err(StoreError::io(from))?;
    atomic::write(to, |file| std::io::copy(&mut source, file).map(|_| ()))
}
