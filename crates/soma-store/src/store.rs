//! Writes a run to disk while its chains run.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use soma::Outcome;
use soma::chain::{Chosen, Draw, Engine, EngineSnapshot, MoveReport, Observer, Problem, Settings};
use soma::kernel::Counts;
use soma::spec::Sampler;

use crate::checkpoint::Checkpoint;
use crate::table::{DRAWS, RECORDS, RESERVED, Table};
use crate::writer::PartWriter;
use crate::{FolderLock, Manifest, Status, StoreError, Watch, atomic};

pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// Bytes reserved for the end of a run, besides a manifest as long as the first.
const RESERVE: usize = 1 << 16;

/// What is stored, and how often.
#[derive(Debug, Clone)]
pub struct Options {
    /// The text of the spec, for the manifest.
    pub spec: String,
    /// The thinning interval of stored records; `None` if they are not stored.
    pub records_thin: Option<u64>,
    /// The longest time between two checkpoints of a chain.
    pub checkpoint_every: Duration,
    /// The index of the first chain; not 0 if others are run elsewhere.
    pub first_chain: usize,
}

/// An [`Observer`] that stores what it observes.
///
/// When a run is resumed, nothing in its folder is changed before its first chain begins.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    settings: Settings,
    first_chain: usize,
    every: Duration,
    problem: Problem,
    /// By the position of a chain among those in this folder.
    chains: Vec<Mutex<ChainStore>>,
    manifest: Mutex<Manifest>,
    /// Seconds of warm-up and sampling before this run was resumed.
    earlier: (f64, f64),
    watch: Watch,
    begun: Once,
    lock: FolderLock,
}

/// The open files of one chain.
#[derive(Debug)]
struct ChainStore {
    draws: PartWriter,
    records: Option<RecordsStore>,
    /// The kernel that the chain chose, if the kernel is `auto`.
    chosen: Option<Chosen>,
    /// The reports of its sweeps and theta updates at the last checkpoint.
    theta_moves: Vec<MoveReport>,
    /// The draws so far, and the counts of their sweeps.
    kept: u64,
    counts: Counts,
    /// The same at the last checkpoint, and its iteration.
    saved: u64,
    saved_counts: Counts,
    saved_iteration: u64,
    /// The time of the last checkpoint, and its duration.
    last_checkpoint: Instant,
    cost: Duration,
}

/// The open file of imputed records.
#[derive(Debug)]
struct RecordsStore {
    writer: PartWriter,
    /// The thinning interval.
    thin: u64,
    dim: usize,
}

impl Store {
    /// A new run in `folder`, which must not contain a run.
    pub fn create(
        folder: impl AsRef<Path>,
        problem: &Problem,
        settings: &Settings,
        options: Options,
    ) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let lock = FolderLock::acquire(folder)?;
        refuse_a_run(folder)?;
        let parameters = problem.outputs();
        if let Some(name) = parameters.iter().find(|name| RESERVED.contains(&name.as_str())) {
            let problem = format!("has a column {name}: no parameter can have that name");
            return Err(StoreError::unfit(folder, problem));
        }
        let manifest = Manifest {
            format: Manifest::FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            status: Status::Running,
            spec: options.spec,
            settings: settings.clone(),
            first_chain: options.first_chain,
            chosen: vec![None; settings.chains],
            theta_moves: vec![Vec::new(); settings.chains],
            n: problem.release().n(),
            parameters,
            records_thin: options.records_thin,
            draws: vec![0; settings.chains],
            iterations: vec![0; settings.chains],
            moves: 0,
            accepted: 0,
            acceptance_rate: 0.0,
            seconds_warmup: 0.0,
            seconds_sampling: 0.0,
        };
        let with_records = options.records_thin.map(|_| RECORDS);
        for part in [DRAWS, CHECKPOINTS].into_iter().chain(with_records) {
            atomic::make_folder(&folder.join(part))?;
        }
        manifest.write(folder)?;
        Ok(Store::open(lock, folder, problem, manifest, options.checkpoint_every))
    }

    /// Resumes the run in `folder` from its last checkpoints. It must be a run of the spec `spec`,
    /// with problem `problem`, and keeps its settings: `given` may repeat them, and may request
    /// more draws. All checkpoints and rows must be undamaged; otherwise the folder is left
    /// unchanged.
    pub fn resume(
        folder: impl AsRef<Path>,
        problem: &Problem,
        spec: &str,
        given: Sampler,
        checkpoint_every: Duration,
    ) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        // Without a run there is no folder to lock; with one, it is read under the lock.
        Manifest::read(folder)?;
        let lock = FolderLock::acquire(folder)?;
        let mut manifest = Manifest::read(folder)?;
        let is_same = soma::spec::same(&manifest.spec, spec)
            && manifest.parameters == problem.outputs()
            && manifest.n == problem.release().n();
        if !is_same {
            let problem = "holds a run of another spec, which cannot be resumed with this one";
            return Err(StoreError::unfit(folder, problem));
        }
        manifest.settings = resumed_settings(&manifest, given)
            .and_then(|s| s.check(problem).map(|()| s).map_err(|invalid| invalid.to_string()))
            .map_err(|problem| StoreError::unfit(folder, problem))?;
        let store = Store::open(lock, folder, problem, manifest, checkpoint_every);
        store.chains().try_for_each(|chain| store.check(chain))?;
        Ok(store)
    }

    fn open(
        lock: FolderLock,
        folder: &Path,
        problem: &Problem,
        manifest: Manifest,
        every: Duration,
    ) -> Self {
        let settings = manifest.settings.clone();
        let dim = problem.model().record_dim();
        let draws = Table::draws(folder, &manifest);
        let records = Table::records(folder, &manifest, dim);
        let chain = |c: usize| {
            let number = manifest.first_chain + c;
            let records = records.clone().zip(manifest.records_thin).map(|(table, thin)| {
                RecordsStore { writer: PartWriter::new(table, number), thin, dim }
            });
            Mutex::new(ChainStore {
                draws: PartWriter::new(draws.clone(), number),
                records,
                chosen: manifest.chosen[c].clone(),
                theta_moves: manifest.theta_moves[c].clone(),
                kept: 0,
                counts: Counts::default(),
                saved: 0,
                saved_counts: Counts::default(),
                saved_iteration: 0,
                last_checkpoint: Instant::now(),
                cost: Duration::ZERO,
            })
        };
        Store {
            folder: folder.to_path_buf(),
            every,
            problem: problem.clone(),
            chains: (0..settings.chains).map(chain).collect(),
            earlier: (manifest.seconds_warmup, manifest.seconds_sampling),
            watch: Watch::start(settings.chains, settings.warmup),
            first_chain: manifest.first_chain,
            manifest: Mutex::new(manifest),
            settings,
            begun: Once::new(),
            lock,
        }
    }

    /// The settings; for a resumed run, those that it began with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The indices of the chains that are stored here.
    pub fn chains(&self) -> Range<usize> {
        self.first_chain..self.first_chain + self.chains.len()
    }

    /// The open files of the chain with this index.
    fn chain(&self, chain: usize) -> MutexGuard<'_, ChainStore> {
        lock(&self.chains[chain - self.first_chain])
    }

    /// Ends the run. After a failure, the state of the last checkpoints remains.
    pub fn finish(self, failed: bool) -> Result<Manifest, StoreError> {
        let complete = |chain: &Mutex<ChainStore>| lock(chain).saved == self.settings.draws;
        let status = if failed {
            Status::Failed
        } else if self.chains.iter().all(complete) {
            Status::Complete
        } else {
            Status::Stopped
        };
        self.lock.release()?;
        self.write_manifest(status)?;
        Ok(self.manifest.into_inner().unwrap_or_else(|e| e.into_inner()))
    }

    fn checkpoint_path(&self, chain: usize) -> PathBuf {
        self.folder.join(checkpoint_name(chain))
    }

    /// The last checkpoint of a chain, which must belong to this run; `None` if there is none yet.
    fn last_checkpoint(&self, chain: usize) -> Result<Option<Checkpoint>, StoreError> {
        let path = self.checkpoint_path(chain);
        let manifest = lock(&self.manifest);
        let found = Checkpoint::read(&path)?;
        match &found {
            Some(found) => found
                .check(&self.problem, &manifest, chain)
                .map_err(|problem| Checkpoint::damaged(&path, problem))?,
            None if manifest.iterations[chain - self.first_chain] > 0 => {
                return Err(Checkpoint::damaged(&path, "it is missing"));
            }
            None => {}
        }
        Ok(found)
    }

    /// Whether a chain can be resumed: its checkpoint is valid, and the rows before it are
    /// complete.
    fn check(&self, chain: usize) -> Result<(), StoreError> {
        let found = self.last_checkpoint(chain)?;
        let mut store = self.chain(chain);
        store.at(found.as_ref());
        let rows = |table: &Table| table.check(chain, table.rows(store.saved));
        rows(store.draws.table())?;
        store.records.as_ref().map_or(Ok(()), |records| rows(records.writer.table()))
    }

    /// Resumes a chain from its last checkpoint, and removes what was written after it.
    fn load(&self, chain: usize) -> Result<Option<EngineSnapshot>, StoreError> {
        let found = self.last_checkpoint(chain)?;
        let mut store = self.chain(chain);
        store.at(found.as_ref());
        let saved = store.saved;
        store.draws.restore(saved)?;
        if let Some(records) = &mut store.records {
            records.writer.restore(saved)?;
        }
        atomic::remove_unfinished(&self.checkpoint_path(chain))?;
        Ok(found.map(|found| found.snapshot))
    }

    /// Records that the run is running, and reserves space to record its end.
    fn begin_run(&self) -> Result<(), StoreError> {
        let length = lock(&self.manifest).text().len();
        self.lock.reserve(2 * length + RESERVE)?;
        self.write_manifest(Status::Running)
    }

    /// Stores the state of a chain: first its rows, then the checkpoint that refers to them, then
    /// the manifest.
    fn checkpoint(&self, chain: usize, state: &Engine) -> Result<(), StoreError> {
        let begun = Instant::now();
        let run = lock(&self.manifest).fingerprint();
        let mut store = self.chain(chain);
        store.draws.flush()?;
        if let Some(records) = &mut store.records {
            records.writer.flush()?;
        }
        let (draws, counts, snapshot) = (store.kept, store.counts, state.snapshot());
        let checkpoint = Checkpoint { run, chain: chain as u64, snapshot, draws, counts };
        checkpoint.write(&self.checkpoint_path(chain))?;
        store.at(Some(&checkpoint));
        store.chosen = state.chosen();
        store.theta_moves = state.moves();
        drop(store);
        self.write_manifest(Status::Running)?;
        let mut store = self.chain(chain);
        (store.cost, store.last_checkpoint) = (begun.elapsed(), Instant::now());
        Ok(())
    }

    /// Writes the manifest from the state of the checkpoints.
    fn write_manifest(&self, status: Status) -> Result<(), StoreError> {
        let mut manifest = lock(&self.manifest);
        let mut counts = Counts::default();
        for (chain, store) in self.chains.iter().enumerate() {
            let store = lock(store);
            manifest.draws[chain] = store.saved;
            manifest.iterations[chain] = store.saved_iteration;
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

impl ChainStore {
    /// Sets the chain to this checkpoint, or to its start.
    fn at(&mut self, checkpoint: Option<&Checkpoint>) {
        self.saved = checkpoint.map_or(0, |found| found.draws);
        self.saved_counts = checkpoint.map_or_else(Counts::default, |found| found.counts);
        self.saved_iteration = checkpoint.map_or(0, |found| found.snapshot.iteration());
        (self.kept, self.counts) = (self.saved, self.saved_counts);
    }
}

/// The checkpoint file of a chain, in the folder of a run.
pub(crate) fn checkpoint_name(chain: usize) -> PathBuf {
    Path::new(CHECKPOINTS).join(format!("chain-{chain:04}.checkpoint"))
}

/// Rejects a folder that contains any file of a run, which would be mistaken for part of a new one.
pub(crate) fn refuse_a_run(folder: &Path) -> Result<(), StoreError> {
    if folder.join(Manifest::FILE).exists() {
        let problem = "holds a run already; resume it (--resume), or choose another folder";
        return Err(StoreError::unfit(folder, problem));
    }
    for part in [DRAWS, RECORDS, CHECKPOINTS] {
        let path = folder.join(part);
        let is_empty = match std::fs::read_dir(&path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(StoreError::io(&path)(error)),
        };
        if !is_empty {
            let problem = format!(
                "holds files of a run in {part}/, but no manifest.json to tell what run it was; \
                 choose another folder, or empty this one"
            );
            return Err(StoreError::unfit(folder, problem));
        }
    }
    Ok(())
}

/// The settings of a resumed run, or the reason against them.
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

/// The settings of a run that differ from those given, by name.
fn differences(begun: &Settings, given: &Settings) -> Vec<String> {
    let fields = |settings: &Settings| match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(fields)) => fields,
        other => unreachable!("settings are a table: {other:?}"),
    };
    let given = fields(given);
    let other = fields(begun).into_iter().filter(|(name, value)| given.get(name) != Some(value));
    other.map(|(name, value)| format!("{name} {value} (given: {})", given[&name])).collect()
}

impl Observer for Store {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let mut begun = Ok(());
        self.begun.call_once(|| begun = self.begin_run());
        begun?;
        let snapshot = self.load(chain)?;
        let place = chain - self.first_chain;
        self.watch.begin(place, snapshot.as_ref().map_or(0, EngineSnapshot::iteration));
        self.chain(chain).last_checkpoint = Instant::now();
        Ok(snapshot)
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        let mut store = self.chain(chain);
        let index = store.kept;
        let mut row = draw.values;
        row.extend([draw.acceptance, draw.log_density]);
        store.draws.push(&row)?;
        if let Some(records) = &mut store.records
            && index.is_multiple_of(records.thin)
        {
            let mut shown = state.records().into_owned();
            self.problem.model().show(&mut shown);
            for record in shown.chunks_exact(records.dim) {
                records.writer.push(record)?;
            }
        }
        store.kept += 1;
        store.counts += draw.counts;
        Ok(())
    }

    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        self.watch.step(chain - self.first_chain, state.iteration());
        let store = self.chain(chain);
        // On a slow disk, at most half of the time goes into checkpoints.
        let is_due = store.last_checkpoint.elapsed() >= self.every.max(store.cost);
        drop(store);
        if is_due {
            self.checkpoint(chain, state)?;
        }
        Ok(())
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        self.watch.end(chain - self.first_chain);
        // A chain interrupted within an iteration can be resumed from its last checkpoint only.
        if state.is_whole() {
            self.checkpoint(chain, state)?;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
