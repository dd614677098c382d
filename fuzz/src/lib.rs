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

/// Some runs of a few draws.
pub fn all() -> Vec<Stored> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let some = [
        ("regression-n10-eps30", "auto"),
        ("normal-gaussian-noise", "soma"),
        ("private-mean-n2", "soma-blocks"),
        ("histogram-n20", "soma"),
        ("category-counts", "auto"),
        ("cross-table", "auto"),
        ("log-normal-mean", "auto"),
        ("ratio-mean", "auto"),
    ];
    let stored = |(example, kernel): (&str, &str)| {
        let text = std::fs::read_to_string(examples.join(example).with_extension("toml"));
        let text = text.expect("an example");
        let spec = Spec::parse(&text).expect("a spec");
        let given = format!("kernel = \"{kernel}\"\nchains = 1\nwarmup = 40\ndraws = 20\n");
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
    };
    some.into_iter().map(stored).collect()
}
