//! Shared by the tests of the store.

#![allow(dead_code)] // each test file uses a part of it

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use soma::Outcome;
use soma::chain::{Draw, Engine, EngineSnapshot, Observer, Settings, run};
use soma::spec::Spec;
use soma_store::{Options, Status, Store};

pub const SPEC: &str = r#"
[release]
n = 6
statistic = "mean"
values = [0.4]
query = { kind = "mean", clamp = [-5.0, 5.0] }
mechanism = { kind = "laplace", scale = 0.1 }

[model]
kind = "normal"
prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }

[sampler]
chains = 3
warmup = 20
draws = 50
thin = 2
seed = 3
"#;

pub fn spec() -> (Spec, Settings) {
    let spec = Spec::parse(SPEC).unwrap();
    let settings = spec.settings().unwrap();
    (spec, settings)
}

/// A checkpoint every few iterations.
pub const EVERY: Duration = Duration::from_millis(2);

pub fn options() -> Options {
    Options { spec: SPEC.into(), records_thin: Some(7), checkpoint_every: EVERY, first_chain: 0 }
}

pub fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Passes everything to the store, and stops after some iterations in total.
pub struct StopAfter<'a>(&'a Store, AtomicU64);

impl<'a> StopAfter<'a> {
    pub fn new(store: &'a Store, iterations: u64) -> Self {
        StopAfter(store, AtomicU64::new(iterations))
    }
}

impl Observer for StopAfter<'_> {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        self.0.begin(chain)
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        self.0.draw(chain, draw, state)
    }

    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        self.1.fetch_sub(1, Ordering::Relaxed);
        self.0.step(chain, state)
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        self.0.end(chain, state)
    }

    fn stop(&self) -> bool {
        self.1.load(Ordering::Relaxed) == 0
    }
}

pub fn whole_run(folder: &Path) {
    let (spec, settings) = spec();
    let store = Store::create(folder, &spec.problem, &settings, options()).unwrap();
    run(&spec.problem, &settings, threads(2), &store).unwrap();
    assert_eq!(store.finish(false).unwrap().status, Status::Complete);
}

/// A run that is stopped after some iterations in total.
pub fn stopped_run(folder: &Path, iterations: u64) {
    let (spec, settings) = spec();
    let store = Store::create(folder, &spec.problem, &settings, options()).unwrap();
    run(&spec.problem, &settings, threads(1), &StopAfter::new(&store, iterations)).unwrap();
    assert_eq!(store.finish(false).unwrap().status, Status::Stopped);
}

/// The contents of all files below a folder, by name.
pub fn everything(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let below = everything(&path).into_iter();
            files.extend(below.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files
}

/// Copies all files below a folder.
pub fn copy(from: &Path, to: &Path) {
    for (name, bytes) in everything(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
