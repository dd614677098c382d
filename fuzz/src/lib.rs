//! Runs that the fuzz targets start from.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use soma::chain::run;
use soma::spec::{Sampler, Spec};
use soma_store::{Manifest, Options, Store};

/// A run of one chain, and its files.
pub struct Stored {
    /// What it is a run of.
    pub spec: Spec,
    /// How far it came.
    pub manifest: Manifest,
    /// The contents of its checkpoint, and of its file of draws.
    pub checkpoint: Vec<u8>,
    /// See `checkpoint`.
    pub draws: Vec<u8>,
}

/// The runs: an example, a kernel and theta updates each; none that would take minutes under the
/// sanitizer.
const RUNS: [(&str, &str, &str); 9] = [
    ("regression-n10-eps30", "auto", "auto"),
    ("normal-gaussian-noise", "soma", "auto"),
    ("private-mean-n2", "soma-blocks", "auto"),
    ("histogram-n20", "soma", "auto"),
    ("category-counts", "auto", "auto"),
    ("cross-table", "auto", "auto"),
    ("proportion", "soma", "auto"),
    ("count-and-sum", "soma", "auto"),
    ("suppressed-counts", "auto", "auto"),
];

/// Some runs of a few draws.
pub fn all() -> Vec<Stored> {
    RUNS.into_iter().map(stored).collect()
}

/// One of them.
pub fn first() -> Stored {
    stored(RUNS[0])
}

fn stored((example, kernel, moves): (&str, &str, &str)) -> Stored {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example);
    let text = std::fs::read_to_string(path.with_extension("toml")).expect("an example");
    let spec = Spec::parse(&text).expect("a spec");
    let given = format!(
        "kernel = \"{kernel}\"\nmoves = \"{moves}\"\nchains = 1\nwarmup = 20\ndraws = 20\n"
    );
    let given = Sampler::parse(&given).expect("settings");
    let settings = spec.sampler.clone().overridden_by(given);
    let settings = settings.settings(spec.problem.release().n()).expect("settings");
    let folder = tempfile::tempdir().expect("a folder");
    let checkpoint_every = Duration::from_secs(3600);
    let options = Options { spec: text, first_chain: 0, records_thin: None, checkpoint_every };
    let store = Store::create(folder.path(), &spec.problem, &settings, options);
    let store = store.expect("a store");
    run(&spec.problem, &settings, NonZeroUsize::MIN, &store).expect("a run");
    let manifest = store.finish(false).expect("an end");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    let checkpoint = read("checkpoints/chain-0000.checkpoint");
    let draws = read("draws/chain-0000-part-00000.parquet");
    Stored { spec, manifest, checkpoint, draws }
}
