//! A stored run has the same draws, whether it was stopped and resumed or not.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{EVERY, SPEC, StopAfter, options, spec, threads, whole_run};
use soma::chain::{Collected, Draw, Settings, run};
use soma::spec::Sampler;
use soma_store::{Run, Status, Store, StoreError};

/// The Parquet files of a run, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in ["draws", "records"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.insert(format!("{part}/{name}"), std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn the_stored_draws_are_the_draws() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let (spec, settings) = spec();
    let collected = Collected::new(settings.chains);
    run(&spec.problem, &settings, threads(1), &collected).unwrap();
    let draws = collected.into_draws();

    let stored = Run::open(folder.path()).unwrap();
    assert_eq!(stored.manifest().parameters, ["mu", "sigma2"]);
    assert_eq!(stored.manifest().draws, [50, 50, 50]);
    // Six records in each sweep; two of the chains sweep in every other iteration.
    assert_eq!(stored.manifest().moves, (100 + 50 + 50) * 6);
    let column = |of: fn(&Draw) -> f64| -> Vec<Vec<f64>> {
        draws.iter().map(|chain| chain.iter().map(of).collect()).collect()
    };
    assert_eq!(stored.column("mu").unwrap(), column(|draw| draw.values[0]));
    assert_eq!(stored.column("sigma2").unwrap(), column(|draw| draw.values[1]));
    assert_eq!(stored.column("log_density").unwrap(), column(|draw| draw.log_density));
    let acceptance = column(|draw| draw.acceptance);
    assert_eq!(stored.column("acceptance").unwrap(), acceptance);
    assert!(stored.column("nothing").is_err());
}

#[test]
fn a_resumed_run_leaves_the_files_of_a_whole_one() {
    let whole = tempfile::tempdir().unwrap();
    whole_run(whole.path());
    let (spec, settings) = spec();
    for stop in [1, 19, 20, 21, 60, 119, 121, 240, 300] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), &spec.problem, &settings, options()).unwrap();
        let stopping = StopAfter::new(&store, stop);
        run(&spec.problem, &settings, threads(1), &stopping).unwrap();
        assert_eq!(store.finish(false).unwrap().status, Status::Stopped);
        let store =
            Store::resume(folder.path(), &spec.problem, SPEC, Sampler::default(), EVERY).unwrap();
        run(&spec.problem, store.settings(), threads(2), &store).unwrap();
        assert_eq!(store.finish(false).unwrap().status, Status::Complete);
        assert!(files(folder.path()) == files(whole.path()), "stopped after {stop}");
    }
}

/// Killed between writing rows and writing the checkpoint: the extra rows are ignored.
#[test]
fn rows_after_the_checkpoint_are_drawn_again() {
    let whole = tempfile::tempdir().unwrap();
    whole_run(whole.path());
    let (spec, settings) = spec();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &spec.problem, &settings, options()).unwrap();
    let stopping = StopAfter::new(&store, 70);
    run(&spec.problem, &settings, threads(1), &stopping).unwrap();
    store.finish(false).unwrap();
    for (name, contents) in files(whole.path()) {
        std::fs::write(folder.path().join(name), contents).unwrap();
    }
    let store =
        Store::resume(folder.path(), &spec.problem, SPEC, Sampler::default(), EVERY).unwrap();
    run(&spec.problem, store.settings(), threads(1), &store).unwrap();
    store.finish(false).unwrap();
    assert!(files(folder.path()) == files(whole.path()));
}

#[test]
fn a_run_can_be_made_longer() {
    let (longer, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (spec, settings) = spec();
    let more = Settings { draws: 80, ..settings };
    let store = Store::create(longer.path(), &spec.problem, &more, options()).unwrap();
    run(&spec.problem, &more, threads(2), &store).unwrap();
    store.finish(false).unwrap();

    whole_run(folder.path());
    let given = Sampler { draws: Some(80), ..Sampler::default() };
    let store = Store::resume(folder.path(), &spec.problem, SPEC, given, EVERY).unwrap();
    run(&spec.problem, store.settings(), threads(2), &store).unwrap();
    store.finish(false).unwrap();
    assert!(files(folder.path()) == files(longer.path()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let (spec, settings) = spec();
    let message = |result: Result<Store, StoreError>| result.unwrap_err().to_string();
    let again = Store::create(folder.path(), &spec.problem, &settings, options());
    assert!(message(again).contains("holds a run already"));

    let resume =
        |text: &str, given| Store::resume(folder.path(), &spec.problem, text, given, EVERY);
    let other = SPEC.replace("0.4", "0.5");
    assert!(message(resume(&other, Sampler::default())).contains("another spec"));
    assert!(resume(&format!("# a remark\n{SPEC}"), Sampler::default()).is_ok());
    let seed = Sampler { seed: Some(4), ..Sampler::default() };
    assert!(message(resume(SPEC, seed)).contains("other settings"));
    let fewer = Sampler { draws: Some(4), ..Sampler::default() };
    assert!(message(resume(SPEC, fewer)).contains("50 draws"));

    let empty = tempfile::tempdir().unwrap();
    assert!(Run::open(empty.path()).unwrap_err().to_string().contains("holds no run"));
}

#[test]
fn a_folder_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, settings) = spec();
    let store = Store::create(folder.path(), &spec.problem, &settings, options()).unwrap();
    let resume = || Store::resume(folder.path(), &spec.problem, SPEC, Sampler::default(), EVERY);
    assert!(resume().unwrap_err().to_string().contains("by another run"));
    drop(store);
    assert!(resume().is_ok());
}

/// Any single damaged byte (one in seven here) and a truncated file are detected.
#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let (spec, _) = spec();
    let path = folder.path().join("checkpoints/chain-0001.checkpoint");
    let good = std::fs::read(&path).unwrap();
    let resume = || Store::resume(folder.path(), &spec.problem, SPEC, Sampler::default(), EVERY);
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        resume().unwrap_err().to_string().contains("is damaged")
    };
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(refused(&bad), "byte {at}");
    }
    for length in [0, 7, 15, 16, good.len() - 1] {
        assert!(refused(&good[..length]), "length {length}");
    }
    std::fs::write(&path, good).unwrap();
    resume().unwrap();
}
