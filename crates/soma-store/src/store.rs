//! Writes a run to disk while its chains run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use soma::Outcome;
use soma::chain::{Chain, Chosen, Draw, MoveReport, Observer, Problem, Settings, Snapshot};
use soma::kernel::Counts;
use soma::spec::Sampler;

use crate::checkpoint::Checkpoint;
use crate::part::{Columns, PartWriter};
use crate::{FolderLock, Manifest, Status, StoreError, Watch};

pub(crate) const DRAWS: &str = "draws";
const RECORDS: &str = "records";
const CHECKPOINTS: &str = "checkpoints";

/// Rows of draws in a full file.
const DRAWS_PER_PART: u64 = 1 << 15;

/// About as many rows of records in a full file, and at least the records of one draw.
const RECORDS_PER_PART: u64 = 1 << 17;

/// What is stored, and how often.
#[derive(Debug, Clone)]
pub struct Options {
    /// The text of the spec, for the manifest.
    pub spec: String,
    /// Of how many draws one has its imputed records stored; none, without it.
    pub records_thin: Option<u64>,
    /// The longest time between two checkpoints of a chain.
    pub checkpoint_every: Duration,
}

/// An [`Observer`] that stores what it sees.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    settings: Settings,
    n: u64,
    every: Duration,
    chains: Vec<Mutex<ChainStore>>,
    manifest: Mutex<Manifest>,
    /// Seconds of warm-up and sampling before this run was resumed.
    earlier: (f64, f64),
    watch: Watch,
    _lock: FolderLock,
}

/// The open files of one chain.
#[derive(Debug)]
struct ChainStore {
    draws: PartWriter,
    records: Option<RecordsStore>,
    /// Which kernel the chain took, where it was to find one and has.
    chosen: Option<Chosen>,
    /// What its sweeps and moves of theta had done at the last checkpoint.
    theta_moves: Vec<MoveReport>,
    /// Draws so far, and what the sweeps did for them.
    kept: u64,
    counts: Counts,
    /// The same at the last checkpoint.
    saved: u64,
    saved_counts: Counts,
    last_checkpoint: Instant,
}

/// The open file of imputed records.
#[derive(Debug)]
struct RecordsStore {
    writer: PartWriter,
    /// Of how many draws one is stored.
    thin: u64,
    dim: usize,
}

impl Store {
    /// A new run in `folder`, which must not hold a run.
    pub fn create(
        folder: impl AsRef<Path>,
        problem: &Problem,
        settings: &Settings,
        options: Options,
    ) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let lock = FolderLock::acquire(folder)?;
        if folder.join(Manifest::FILE).exists() {
            let problem = "holds a run already; resume it (--resume), or choose another folder";
            return Err(StoreError::unfit(folder, problem));
        }
        let parameters = problem.outputs();
        if let Some(name) = parameters.iter().find(|name| RESERVED.contains(&name.as_str())) {
            let problem = format!("has a column {name}: no parameter can have that name");
            return Err(StoreError::unfit(folder, problem));
        }
        for part in [DRAWS, CHECKPOINTS] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(StoreError::io(&path))?;
        }
        if options.records_thin.is_some() {
            let path = folder.join(RECORDS);
            fs::create_dir_all(&path).map_err(StoreError::io(&path))?;
        }
        let manifest = Manifest {
            format: Manifest::FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            status: Status::Running,
            spec: options.spec,
            settings: settings.clone(),
            chosen: vec![None; settings.chains],
            theta_moves: vec![Vec::new(); settings.chains],
            n: problem.release().n(),
            parameters,
            records_thin: options.records_thin,
            draws: vec![0; settings.chains],
            moves: 0,
            accepted: 0,
            acceptance_rate: 0.0,
            seconds_warmup: 0.0,
            seconds_sampling: 0.0,
        };
        Store::open(lock, folder, problem, manifest, options.checkpoint_every)
    }

    /// The run in `folder`, to be taken up where its last checkpoints were. It must be a run of the
    /// spec `spec`, whose problem is `problem`, and its settings are those that it was begun with:
    /// `given` may repeat them, and may ask for more draws.
    pub fn resume(
        folder: impl AsRef<Path>,
        problem: &Problem,
        spec: &str,
        given: Sampler,
        checkpoint_every: Duration,
    ) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let mut manifest = Manifest::read(folder)?;
        let lock = FolderLock::acquire(folder)?;
        if !soma::spec::same(&manifest.spec, spec) || manifest.parameters != problem.outputs() {
            let problem = "holds a run of another spec, which cannot be resumed with this one";
            return Err(StoreError::unfit(folder, problem));
        }
        manifest.settings = resumed_settings(&manifest, given)
            .map_err(|problem| StoreError::unfit(folder, problem))?;
        manifest.status = Status::Running;
        let store = Store::open(lock, folder, problem, manifest, checkpoint_every)?;
        for chain in 0..store.chains.len() {
            store.load(chain)?;
        }
        Ok(store)
    }

    fn open(
        lock: FolderLock,
        folder: &Path,
        problem: &Problem,
        manifest: Manifest,
        every: Duration,
    ) -> Result<Self, StoreError> {
        manifest.write(folder)?;
        let settings = manifest.settings.clone();
        let n = manifest.n as u64;
        let draws = Columns {
            keys: vec!["chain".into(), "draw".into()],
            values: [&manifest.parameters[..], &["acceptance".into(), "log_density".into()]]
                .concat(),
        };
        let dim = problem.model().record_dim();
        let records = Columns {
            keys: vec!["chain".into(), "draw".into(), "record".into()],
            values: (1..=dim).map(|c| format!("x{c}")).collect(),
        };
        let chosen = |c: usize| manifest.chosen.get(c).cloned().flatten();
        let theta_moves = |c: usize| manifest.theta_moves.get(c).cloned().unwrap_or_default();
        let chain = |c: usize| {
            let writer = |part: &str, columns: &Columns, rows| {
                PartWriter::new(folder.join(part), c, columns.clone(), rows)
            };
            let records = manifest.records_thin.map(|thin| RecordsStore {
                writer: writer(RECORDS, &records, n * (RECORDS_PER_PART / n).max(1)),
                thin,
                dim,
            });
            Mutex::new(ChainStore {
                draws: writer(DRAWS, &draws, DRAWS_PER_PART),
                records,
                chosen: chosen(c),
                theta_moves: theta_moves(c),
                kept: 0,
                counts: Counts::default(),
                saved: 0,
                saved_counts: Counts::default(),
                last_checkpoint: Instant::now(),
            })
        };
        Ok(Store {
            folder: folder.to_path_buf(),
            n,
            every,
            chains: (0..settings.chains).map(chain).collect(),
            earlier: (manifest.seconds_warmup, manifest.seconds_sampling),
            watch: Watch::start(settings.chains, settings.warmup),
            manifest: Mutex::new(manifest),
            settings,
            _lock: lock,
        })
    }

    /// How the run is made: for a resumed run, as it was begun.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Ends the run. After a failure, what the last checkpoints hold remains.
    pub fn finish(self, failed: bool) -> Result<Manifest, StoreError> {
        let complete = |chain: &Mutex<ChainStore>| lock(chain).saved == self.settings.draws;
        let status = if failed {
            Status::Failed
        } else if self.chains.iter().all(complete) {
            Status::Complete
        } else {
            Status::Stopped
        };
        self.write_manifest(status)?;
        Ok(self.manifest.into_inner().unwrap_or_else(|e| e.into_inner()))
    }

    fn checkpoint_path(&self, chain: usize) -> PathBuf {
        self.folder.join(CHECKPOINTS).join(format!("chain-{chain:04}.checkpoint"))
    }

    /// Takes up a chain at its last checkpoint.
    fn load(&self, chain: usize) -> Result<Option<Snapshot>, StoreError> {
        let found = Checkpoint::read(&self.checkpoint_path(chain))?;
        let mut store = lock(&self.chains[chain]);
        let draws = found.as_ref().map_or(0, |found| found.draws);
        (store.kept, store.saved) = (draws, draws);
        store.counts = found.as_ref().map_or_else(Counts::default, |found| found.counts);
        store.saved_counts = store.counts;
        store.draws.restore(draws)?;
        if let Some(records) = &mut store.records {
            records.writer.restore(draws.div_ceil(records.thin) * self.n)?;
        }
        Ok(found.map(|found| found.snapshot))
    }

    /// Stores the chain as it is.
    fn checkpoint(&self, chain: usize, state: &Chain) -> Result<(), StoreError> {
        let mut store = lock(&self.chains[chain]);
        store.draws.flush()?;
        if let Some(records) = &mut store.records {
            records.writer.flush()?;
        }
        let snapshot = state.snapshot();
        let checkpoint = Checkpoint { snapshot, draws: store.kept, counts: store.counts };
        checkpoint.write(&self.checkpoint_path(chain))?;
        (store.saved, store.saved_counts) = (store.kept, store.counts);
        store.chosen = state.chosen().cloned();
        store.theta_moves = state.moves();
        store.last_checkpoint = Instant::now();
        drop(store);
        self.write_manifest(Status::Running)
    }

    /// Writes what the checkpoints hold.
    fn write_manifest(&self, status: Status) -> Result<(), StoreError> {
        let mut manifest = lock(&self.manifest);
        let mut counts = Counts::default();
        manifest.chosen.resize(self.chains.len(), None);
        manifest.theta_moves.resize(self.chains.len(), Vec::new());
        for (chain, store) in self.chains.iter().enumerate() {
            let store = lock(store);
            manifest.draws[chain] = store.saved;
            manifest.chosen[chain] = store.chosen.clone();
            manifest.theta_moves[chain] = store.theta_moves.clone();
            counts += store.saved_counts;
        }
        let (warmup, sampling) = self.watch.seconds();
        manifest.status = status;
        (manifest.moves, manifest.accepted) = (counts.moves, counts.accepted);
        manifest.acceptance_rate = counts.acceptance_rate();
        manifest.seconds_warmup = self.earlier.0 + warmup;
        manifest.seconds_sampling = self.earlier.1 + sampling;
        manifest.write(&self.folder)
    }
}

/// The settings of a run that goes on, or what speaks against them.
fn resumed_settings(manifest: &Manifest, given: Sampler) -> Result<Settings, String> {
    let begun = &manifest.settings;
    let wanted = Sampler::from(begun).overridden_by(given);
    let wanted = wanted.settings(manifest.n).map_err(|invalid| invalid.to_string())?;
    if wanted.draws < begun.draws {
        return Err(format!(
            "holds a run of {} draws, which cannot be resumed with {}",
            begun.draws, wanted.draws
        ));
    }
    let other = differences(begun, &Settings { draws: begun.draws, ..wanted.clone() });
    if !other.is_empty() {
        return Err(format!(
            "holds a run with other settings: it has {}. Resume it with its own, or choose another \
             folder.",
            other.join(", ")
        ));
    }
    Ok(wanted)
}

/// The settings of a run that are not what was given, by name.
fn differences(begun: &Settings, given: &Settings) -> Vec<String> {
    let fields = |settings: &Settings| match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(fields)) => fields,
        other => unreachable!("settings are a table: {other:?}"),
    };
    let given = fields(given);
    let other = fields(begun).into_iter().filter(|(name, value)| given.get(name) != Some(value));
    other.map(|(name, value)| format!("{name} {value} (given: {})", given[&name])).collect()
}

/// Columns that are there besides the parameters.
const RESERVED: [&str; 4] = ["chain", "draw", "acceptance", "log_density"];

impl Observer for Store {
    fn begin(&self, chain: usize) -> Outcome<Option<Snapshot>> {
        let snapshot = self.load(chain)?;
        self.watch.begin(chain, snapshot.as_ref().map_or(0, Snapshot::iteration));
        lock(&self.chains[chain]).last_checkpoint = Instant::now();
        Ok(snapshot)
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Chain) -> Outcome {
        let mut store = lock(&self.chains[chain]);
        let index = store.kept;
        let mut row = draw.values;
        row.extend([draw.acceptance, draw.log_density]);
        store.draws.push(&[chain as u64, index], &row)?;
        if let Some(records) = &mut store.records
            && index.is_multiple_of(records.thin)
        {
            let rows = state.records().all().chunks_exact(records.dim).enumerate();
            for (i, record) in rows {
                records.writer.push(&[chain as u64, index, i as u64], record)?;
            }
        }
        store.kept += 1;
        store.counts += draw.counts;
        Ok(())
    }

    fn step(&self, chain: usize, state: &Chain) -> Outcome {
        self.watch.step(chain, state.iteration());
        let due = lock(&self.chains[chain]).last_checkpoint.elapsed() >= self.every;
        if due {
            self.checkpoint(chain, state)?;
        }
        Ok(())
    }

    fn end(&self, chain: usize, state: &Chain) -> Outcome {
        self.watch.end(chain);
        // A chain that was broken off in an iteration can be taken up from its last checkpoint only.
        if state.is_whole() {
            self.checkpoint(chain, state)?;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
