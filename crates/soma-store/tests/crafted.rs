//! Malicious files with valid checksums and invalid contents.
//!
//! Each reader is called as by the fuzz targets. `SOMA_CRAFTED` is the number of files of each
//! kind.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use common::{EVERY, StopAfter, everything, threads, whole_run};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use soma::chain::{Engine, run};
use soma::spec::{Sampler, Spec};
use soma_store::{Manifest, Options, Run, Store, testing};

fn count() -> u64 {
    std::env::var("SOMA_CRAFTED").map_or(300, |text| text.parse().unwrap())
}

/// A checkpoint of one chain, with its problem and settings.
struct Stored {
    name: String,
    spec: Spec,
    manifest: Manifest,
    bytes: Vec<u8>,
    /// The number of bytes at the end that are not records.
    tail: usize,
}

/// The chain of a shipped example, after some iterations.
fn stored(example: &str, kernel: &str, moves: &str, iterations: u64) -> Stored {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = std::fs::read_to_string(path.join(example).with_extension("toml")).unwrap();
    let spec = Spec::parse(&text).unwrap();
    let subset = if kernel == "soma-subset" { "subset = 2\n" } else { "" };
    let given = format!(
        "kernel = \"{kernel}\"\n{subset}moves = \"{moves}\"\nchains = 1\nwarmup = 60\ndraws = 20\n"
    );
    let sampler = spec.sampler.overridden_by(Sampler::parse(&given).unwrap());
    let settings = sampler.settings(spec.problem.release().n()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { spec: text, records_thin: None, checkpoint_every: EVERY, first_chain: 0 };
    let store = Store::create(folder.path(), &spec.problem, &settings, options).unwrap();
    run(&spec.problem, &settings, threads(1), &StopAfter::new(&store, iterations)).unwrap();
    let manifest = store.finish(false).unwrap();
    let bytes = std::fs::read(folder.path().join("checkpoints/chain-0000.checkpoint")).unwrap();
    let records = match settings.samples_counts(&spec.problem) {
        true => 0,
        false => 8 * manifest.n * spec.problem.model().record_dim(),
    };
    let tail = bytes.len() - testing::CHECKPOINT_HEAD - records - 64;
    let name = format!("{example}, {kernel}, {moves}, iteration {iterations}");
    Stored { name, spec, manifest, bytes, tail }
}

fn all_stored() -> Vec<Stored> {
    let mut all = vec![
        stored("category-counts", "soma", "auto", 30),
        stored("category-counts", "auto", "auto", 14),
        stored("category-counts", "counts", "auto", 70),
        stored("histogram-n20", "soma-subset", "auto", 30),
        stored("histogram-n20", "auto", "auto", 41),
        stored("private-mean-n2", "auto", "interwoven", 30),
        stored("normal-gaussian-noise", "soma", "interwoven", 70),
        stored("regression-n100-eps3", "soma-blocks", "centred", 30),
        stored("atus-female", "soma", "auto", 20),
    ];
    for iterations in [2, 14, 25, 35, 45, 70] {
        all.push(stored("normal-gaussian-noise", "auto", "auto", iterations));
        all.push(stored("regression-n100-eps30", "auto", "auto", iterations));
        all.push(stored("private-mean-n2", "soma", "auto", iterations));
    }
    // Unknown n, tables, parts, laws that are not separable, text with bridges.
    let others = [
        "cross-table",
        "suppressed-counts",
        "ratio-mean",
        "count-and-sum",
        "mean-and-variance",
        "median",
        "synthetic-records",
        "log-normal-mean",
        "proportion",
    ];
    for (example, iterations) in others.iter().flat_map(|name| [(name, 30), (name, 70)]) {
        all.push(stored(example, "auto", "auto", iterations));
    }
    all
}

/// Invalid numbers, in postcard's encoding.
fn number(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let floats = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e308, -1e308, 1e-320, 64.0];
    match rng.random_range(0..4) {
        0 => floats[rng.random_range(0..floats.len())].to_le_bytes().to_vec(),
        1 => vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        2 => vec![rng.random_range(0..128)],
        _ => vec![0x80 | rng.random::<u8>(), rng.random_range(1..128)],
    }
}

/// Changes some bytes, mostly outside the records.
fn change(bytes: &mut Vec<u8>, from: usize, tail: usize, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..4) {
        let length = bytes.len();
        let at = match rng.random_range(0..8) {
            0 => rng.random_range(from..length.min(from + 64)),
            1 => rng.random_range(from..length),
            _ => rng.random_range(length.saturating_sub(tail).max(from)..length),
        };
        match rng.random_range(0..6) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 => {
                let number = number(rng);
                let end = length.min(at + number.len());
                bytes.splice(at..end, number);
            }
            3 => {
                let end = length.min(at + 1);
                bytes.splice(at..end, number(rng));
            }
            4 => {
                bytes.remove(at);
            }
            _ => {
                let end = length.min(at + rng.random_range(1..16));
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
        if bytes.len() <= from + 1 {
            return;
        }
    }
}

#[test]
fn crafted_checkpoints_do_no_harm() {
    let all = all_stored();
    let (mut refused, mut ran, mut panicked) = (0, 0, Vec::new());
    for seed in 0..count() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let one = &all[rng.random_range(0..all.len())];
        let mut bytes = one.bytes.clone();
        change(&mut bytes, testing::CHECKPOINT_HEAD, one.tail, &mut rng);
        testing::seal_checkpoint(&mut bytes);
        let problem = &one.spec.problem;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let Ok(snapshot) = testing::checkpoint(&bytes, problem, &one.manifest, 0) else {
                return false;
            };
            let Ok(mut chain) = Engine::restore(problem, snapshot) else { return false };
            // An error of a step is acceptable too.
            let _ = (0..3).try_for_each(|_| chain.step().map(|_| ()));
            true
        }));
        match outcome {
            Ok(true) => ran += 1,
            Ok(false) => refused += 1,
            Err(_) => panicked.push(format!("seed {seed}: {}", one.name)),
        }
    }
    assert!(panicked.is_empty(), "panics: {panicked:#?}");
    println!("crafted checkpoints: {refused} refused, {ran} were states of a chain, and ran");
}

/// Invalid replacements of words.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "64",
    "1e308",
    "18446744073709551615",
    "281474976710656",
    "null",
    "true",
    "\"\"",
    "\"x\"",
    "[]",
    "{}",
    "[0]",
    "[null]",
    "0.5",
];

/// Replaces a value of the manifest by an invalid word.
fn change_manifest(text: &str, rng: &mut ChaCha8Rng) -> String {
    let mut text = text.to_string();
    for _ in 0..rng.random_range(1..4) {
        let is_end = |c: char| matches!(c, ',' | '\n' | '[' | ']' | '{' | '}');
        let starts: Vec<usize> = text
            .char_indices()
            .filter(|(at, c)| c.is_ascii_alphanumeric() && text[..*at].ends_with([' ', '"']))
            .map(|(at, _)| at)
            .collect();
        let Some(&at) = starts.get(rng.random_range(0..starts.len().max(1))) else { break };
        let end = text[at..].find(is_end).map_or(text.len(), |length| at + length);
        text.replace_range(at..end, WORDS[rng.random_range(0..WORDS.len())]);
    }
    text
}

#[test]
fn crafted_manifests_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let good = std::fs::read_to_string(folder.path().join("manifest.json")).unwrap();
    let files = everything(folder.path());
    let (mut refused, mut read, mut resumed) = (0, 0, 0);
    let good_spec = Spec::parse(common::SPEC).unwrap();
    for seed in 0..count() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let text = testing::seal_manifest(&change_manifest(&good, &mut rng));
        std::fs::write(folder.path().join("manifest.json"), &text).unwrap();
        let is_resumed = || {
            let (spec, given) = (common::SPEC, Sampler::default());
            Store::resume(folder.path(), &good_spec.problem, spec, given, EVERY).is_ok()
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| match Run::open(folder.path()) {
            Ok(run) => {
                for name in ["mu", "sigma2", "acceptance", "log_density"] {
                    let _ = run.column(name);
                }
                Some(is_resumed())
            }
            // What cannot be opened may still be resumable.
            Err(_) => {
                is_resumed();
                None
            }
        }));
        match outcome {
            Ok(None) => refused += 1,
            Ok(Some(is_resumed)) => {
                read += 1;
                resumed += u64::from(is_resumed);
            }
            Err(_) => panic!("seed {seed}: a panic\n{text}"),
        }
    }
    std::fs::write(folder.path().join("manifest.json"), good).unwrap();
    assert!(everything(folder.path()) == files, "nothing was written");
    println!("crafted manifests: {refused} refused, {read} read, {resumed} of them to be resumed");
}

/// Without their seal the Parquet reader decodes the contents: an error or a result.
#[test]
fn crafted_draws_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    whole_run(folder.path());
    let run = Run::open(folder.path()).unwrap();
    let path = folder.path().join("draws/chain-0000-part-00000.parquet");
    let good = std::fs::read(&path).unwrap();
    let (mut refused, mut read) = (0, 0);
    for seed in 0..count() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = good.clone();
        let length = bytes.len();
        change(&mut bytes, 0, length, &mut rng);
        if bytes == good {
            continue;
        }
        std::fs::write(&path, bytes).unwrap();
        match testing::part(folder.path(), run.manifest(), 0) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
        sealed_is_refused(folder.path());
    }
    println!("crafted draws without a seal: {refused} refused, {read} read");
}

fn sealed_is_refused(folder: &Path) {
    assert!(Run::open(folder).unwrap_err().to_string().contains("is damaged"));
}
