//! Damaged folders: every fault is reported, nothing is lost, and intact files are read back.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{
    EVERY, SPEC, StopAfter, copy, everything, options, spec, stopped_run, threads, whole_run,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use soma::chain::run;
use soma::spec::{Sampler, Spec};
use soma_store::{Options, Run, Status, Store, StoreError};

fn resume(folder: &Path) -> Result<Store, StoreError> {
    Store::resume(folder, &spec().0.problem, SPEC, Sampler::default(), EVERY)
}

/// The error of a resumed run; every file is unchanged.
fn refused(folder: &Path) -> String {
    let before = everything(folder);
    let error = resume(folder).unwrap_err().to_string();
    assert!(everything(folder) == before, "a refused resume changed the folder: {error}");
    error
}

/// All columns of all chains.
fn columns(run: &Run) -> BTreeMap<String, Vec<Vec<f64>>> {
    let names = run.manifest().parameters.iter().map(String::as_str);
    let names = names.chain(["acceptance", "log_density"]);
    names.map(|name| (name.to_string(), run.column(name).unwrap())).collect()
}

#[test]
fn a_column_may_have_a_dot_in_its_name() {
    let text = SPEC.replace(
        "[sampler]",
        "fixed = { mu = 0.1, sigma2 = 1.0 }\nsummaries = [\"mean\", 0.025, 0.975]\n\n[sampler]",
    );
    let spec = Spec::parse(&text).unwrap();
    let settings = spec.settings().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = Options { spec: text.clone(), ..options() };
    let store = Store::create(folder.path(), &spec.problem, &settings, options).unwrap();
    run(&spec.problem, &settings, threads(1), &store).unwrap();
    store.finish(false).unwrap();
    let stored = Run::open(folder.path()).unwrap();
    assert_eq!(stored.manifest().parameters, ["mean_x1", "q2.5_x1", "q97.5_x1"]);
    let all = columns(&stored);
    assert!(all.values().all(|chains| chains.iter().all(|chain| chain.len() == 50)));
    let is_ordered = |(low, high): (&f64, &f64)| low <= high;
    assert!(all["q2.5_x1"][0].iter().zip(&all["q97.5_x1"][0]).all(is_ordered));
    let more = Sampler { draws: Some(60), ..Sampler::default() };
    let store = Store::resume(folder.path(), &spec.problem, &text, more, EVERY).unwrap();
    run(&spec.problem, store.settings(), threads(1), &store).unwrap();
    assert_eq!(store.finish(false).unwrap().draws, [60; 3]);
}

#[test]
fn a_new_run_is_not_made_of_old_files() {
    let (spec, settings) = spec();
    for kept in ["checkpoints", "draws", "records"] {
        let folder = tempfile::tempdir().unwrap();
        whole_run(folder.path());
        std::fs::remove_file(folder.path().join("manifest.json")).unwrap();
        for part in ["checkpoints", "draws", "records"] {
            if part != kept {
                std::fs::remove_dir_all(folder.path().join(part)).unwrap();
            }
        }
        let before = everything(folder.path());
        let error = Store::create(folder.path(), &spec.problem, &settings, options()).unwrap_err();
        assert!(error.to_string().contains("holds files of a run"), "{error}");
        assert!(everything(folder.path()) == before);
    }
}

/// A checkpoint of another seed, another spec, other settings or another chain.
#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let path = |folder: &Path, chain: usize| {
        folder.join(format!("checkpoints/chain-000{chain}.checkpoint"))
    };
    let own = std::fs::read(path(folder.path(), 1)).unwrap();
    for change in [("seed = 3", "seed = 4"), ("[0.4]", "[0.41]"), ("warmup = 20", "warmup = 22")] {
        let other = tempfile::tempdir().unwrap();
        let text = SPEC.replace(change.0, change.1);
        let spec = Spec::parse(&text).unwrap();
        let settings = spec.settings().unwrap();
        let options = Options { spec: text, ..options() };
        let store = Store::create(other.path(), &spec.problem, &settings, options).unwrap();
        run(&spec.problem, &settings, threads(1), &store).unwrap();
        store.finish(false).unwrap();
        std::fs::copy(path(other.path(), 1), path(folder.path(), 1)).unwrap();
        assert!(refused(folder.path()).contains("another run"), "{change:?}");
        std::fs::write(path(folder.path(), 1), &own).unwrap();
        let part = "draws/chain-0001-part-00000.parquet";
        let own = std::fs::read(folder.path().join(part)).unwrap();
        std::fs::copy(other.path().join(part), folder.path().join(part)).unwrap();
        assert!(refused(folder.path()).contains("another run"), "{change:?}");
        assert!(Run::open(folder.path()).unwrap_err().to_string().contains("another run"));
        std::fs::write(folder.path().join(part), own).unwrap();
    }
    std::fs::copy(path(folder.path(), 2), path(folder.path(), 1)).unwrap();
    assert!(refused(folder.path()).contains("belongs to chain 2"));
}

#[test]
fn a_missing_checkpoint_is_no_reason_to_delete_draws() {
    for stop in [30, 250] {
        let folder = tempfile::tempdir().unwrap();
        stopped_run(folder.path(), stop);
        std::fs::remove_file(folder.path().join("checkpoints/chain-0000.checkpoint")).unwrap();
        let error = refused(folder.path());
        assert!(error.contains("chain-0000.checkpoint is damaged: it is missing"), "{error}");
    }
}

/// An older checkpoint of the same chain would lose stored draws.
#[test]
fn an_older_checkpoint_is_refused() {
    let (older, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    stopped_run(older.path(), 60);
    stopped_run(folder.path(), 100);
    let checkpoint = "checkpoints/chain-0000.checkpoint";
    std::fs::copy(older.path().join(checkpoint), folder.path().join(checkpoint)).unwrap();
    assert!(refused(folder.path()).contains("it is from iteration 60"));
}

#[test]
fn another_chains_draws_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let part = |chain| folder.path().join(format!("draws/chain-000{chain}-part-00000.parquet"));
    std::fs::copy(part(2), part(0)).unwrap();
    let opened = Run::open(folder.path()).unwrap_err().to_string();
    assert!(opened.contains("rows are not those of this chain"), "{opened}");
    assert_eq!(refused(folder.path()), opened);
}

/// A rejected resume leaves a complete run complete, and a missing file is detected before anything
/// is done.
#[test]
fn a_refused_resume_leaves_the_run_as_it_was() {
    let (spec, _) = spec();
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let before = everything(folder.path());
    let given = Sampler { seed: Some(4), ..Sampler::default() };
    Store::resume(folder.path(), &spec.problem, SPEC, given, EVERY).unwrap_err();
    // Opened for a resume, and dropped before a chain began.
    drop(resume(folder.path()).unwrap());
    assert!(everything(folder.path()) == before);
    assert_eq!(Run::open(folder.path()).unwrap().manifest().status, Status::Complete);
    for lost in ["draws/chain-0001-part-00000.parquet", "records/chain-0002-part-00000.parquet"] {
        let path = folder.path().join(lost);
        let kept = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(refused(folder.path()).contains("it is missing"), "{lost}");
        std::fs::write(&path, kept).unwrap();
    }
    resume(folder.path()).unwrap();
}

/// A failed write leaves no file behind, and the run is recorded as failed.
#[test]
fn a_failed_write_is_written_down() {
    let (spec, settings) = spec();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &spec.problem, &settings, options()).unwrap();
    let in_the_way = folder.path().join("draws/chain-0001-part-00000.parquet");
    std::fs::create_dir_all(in_the_way.join("x")).unwrap();
    run(&spec.problem, &settings, threads(1), &store).unwrap_err();
    assert_eq!(store.finish(true).unwrap().status, Status::Failed);
    let left = everything(folder.path());
    assert!(left.keys().all(|name| !name.contains("unfinished")), "{:?}", left.keys());
    std::fs::remove_dir_all(in_the_way).unwrap();
    let store = resume(folder.path()).unwrap();
    run(&spec.problem, store.settings(), threads(1), &store).unwrap();
    assert_eq!(store.finish(false).unwrap().status, Status::Complete);
}

/// Damage is not copied into a merged run: of draws, records and checkpoints alike.
#[test]
fn damaged_parts_are_not_merged() {
    let (part, at) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    whole_run(part.path());
    let parts = [part.path().to_path_buf()];
    let other = |chain: usize| format!("checkpoints/chain-000{chain}.checkpoint");
    for name in ["draws/chain-0001-part-00000", "records/chain-0002-part-00000"]
        .map(|name| format!("{name}.parquet"))
        .into_iter()
        .chain([other(0)])
    {
        let path = part.path().join(&name);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 4;
        std::fs::write(&path, bad).unwrap();
        let error = soma_store::merge(&parts, &at.path().join("out")).unwrap_err().to_string();
        assert!(error.contains(&name) && error.contains("is damaged"), "{error}");
        std::fs::write(&path, good).unwrap();
    }
    let own = std::fs::read(part.path().join(other(1))).unwrap();
    std::fs::copy(part.path().join(other(2)), part.path().join(other(1))).unwrap();
    let error = soma_store::merge(&parts, &at.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("another run or chain"), "{error}");
    assert!(!at.path().join("out").exists(), "nothing was written");
    std::fs::write(part.path().join(other(1)), own).unwrap();
    soma_store::merge(&parts, &at.path().join("out")).unwrap();
    let merged = columns(&Run::open(at.path().join("out")).unwrap());
    assert!(merged == columns(&Run::open(part.path()).unwrap()));
}

/// Temporary files left by a kill are removed.
#[test]
fn unfinished_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    stopped_run(folder.path(), 100);
    for name in ["draws/.chain-0000-part-00000.parquet", "checkpoints/.chain-0000.checkpoint"] {
        std::fs::write(folder.path().join(format!("{name}.unfinished")), b"some").unwrap();
    }
    let store = resume(folder.path()).unwrap();
    run(&spec().0.problem, store.settings(), threads(1), &store).unwrap();
    store.finish(false).unwrap();
    assert!(everything(folder.path()).keys().all(|name| !name.contains("unfinished")));
}

#[test]
fn a_folder_of_the_first_format_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("manifest.json"), "{\"format\": 1}\n").unwrap();
    let error = Run::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it is of format 1, of another version of soma"), "{error}");
}

/// A change of any single byte of the manifest or of a file of draws is detected: one in eleven
/// here.
#[test]
fn a_damaged_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    for name in ["manifest.json", "draws/chain-0001-part-00000.parquet"] {
        let path = folder.path().join(name);
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(11) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            std::fs::write(&path, bad).unwrap();
            let error = Run::open(folder.path()).unwrap_err();
            assert!(error.to_string().contains("is damaged"), "{name}, byte {at}: {error}");
        }
        std::fs::write(&path, good).unwrap();
    }
}

/// One random kind of damage.
fn damage(folder: &Path, other: &Path, rng: &mut ChaCha8Rng) -> String {
    let names: Vec<String> = everything(folder).into_keys().filter(|n| n != ".lock").collect();
    let name = &names[rng.random_range(0..names.len())];
    let path = folder.join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = rng.random_range(0..bytes.len());
    let what = match rng.random_range(0..9) {
        0 => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            "one bit flipped"
        }
        1 => {
            bytes.truncate(at);
            "cut short"
        }
        2 => {
            bytes[at..].iter_mut().take(512).for_each(|byte| *byte = 0);
            "a block of zeros"
        }
        3 => {
            bytes.extend_from_within(at..);
            "longer"
        }
        4 => {
            std::fs::remove_file(&path).unwrap();
            return format!("{name}: lost");
        }
        5 => {
            let again = &names[rng.random_range(0..names.len())];
            bytes = std::fs::read(folder.join(again)).unwrap();
            "another file of the run"
        }
        6 => match std::fs::read(other.join(name)) {
            Ok(there) => {
                bytes = there;
                "the file of another run"
            }
            Err(_) => "as it was",
        },
        7 => {
            let to = rng.random_range(0..bytes.len());
            bytes.swap(at, to);
            "two bytes exchanged"
        }
        _ => {
            bytes.iter_mut().skip(at).take(64).for_each(|byte| *byte = rng.random());
            "random bytes"
        }
    };
    std::fs::write(&path, bytes).unwrap();
    format!("{name}: {what}")
}

/// Each of `SOMA_DAMAGED` damaged folders is either read as it was written or rejected; if it can
/// be resumed, it ends as an undamaged run.
#[test]
fn damage_is_never_silent() {
    let count: u64 = std::env::var("SOMA_DAMAGED").map_or(60, |text| text.parse().unwrap());
    let [whole, stopped, other] = [0; 3].map(|_| tempfile::tempdir().unwrap());
    whole_run(whole.path());
    stopped_run(stopped.path(), 250);
    let text = SPEC.replace("seed = 3", "seed = 5");
    let spec = Spec::parse(&text).unwrap();
    let settings = spec.settings().unwrap();
    let options = Options { spec: text, ..options() };
    let store = Store::create(other.path(), &spec.problem, &settings, options).unwrap();
    run(&spec.problem, &settings, threads(1), &StopAfter::new(&store, 250)).unwrap();
    store.finish(false).unwrap();
    let right = [whole.path(), stopped.path()].map(|folder| columns(&Run::open(folder).unwrap()));
    let (mut refused_reads, mut refused_resumes) = (0, 0);
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let which = usize::from(rng.random::<bool>());
        let folder = tempfile::tempdir().unwrap();
        copy([whole.path(), stopped.path()][which], folder.path());
        let what = damage(folder.path(), other.path(), &mut rng);
        match Run::open(folder.path()) {
            Ok(run) => assert!(columns(&run) == right[which], "{seed}: {what}"),
            Err(_) => refused_reads += 1,
        }
        let before = everything(folder.path());
        match resume(folder.path()) {
            Ok(store) => {
                run(&spec.problem, store.settings(), threads(1), &store).unwrap();
                store.finish(false).unwrap();
                assert!(columns(&Run::open(folder.path()).unwrap()) == right[0], "{seed}: {what}");
            }
            Err(_) => {
                assert!(everything(folder.path()) == before, "{seed}: {what}");
                refused_resumes += 1;
            }
        }
    }
    println!(
        "{count} damaged folders: {refused_reads} could not be read and {refused_resumes} not be \
         resumed, and said so; the others gave what was written"
    );
}
