//! One pool of threads for all chains of all fits.
//!
//! A fit is opened before its first chain and closed after its last one, so the number of fits in
//! memory is at most the number of threads.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use soma::chain::Problem;
use soma::spec::Spec;
use soma_store::{Manifest, Options, PlannedFit, Run, Status, Store};

use super::progress::BatchProgress;
use super::summary::Done;
use crate::exit::Failed;
use crate::fit::Args;
use crate::interrupt;
use crate::progress::Shown;
use crate::report::Report;
use crate::session::{Session, Sink};

/// The fits and their progress.
pub struct Pool<'a> {
    args: &'a Args,
    progress: Option<&'a BatchProgress>,
    fits: Vec<Fit<'a>>,
    /// All chains, as (fit, chain), and the index of the next.
    chains: Vec<(usize, usize)>,
    next: AtomicUsize,
}

/// A fit of the pool.
struct Fit<'a> {
    planned: &'a PlannedFit,
    folder: Option<PathBuf>,
    /// Chains that have not ended.
    left: AtomicUsize,
    /// Its state while it runs.
    live: Mutex<Option<Arc<Live<'a>>>>,
    done: Mutex<Option<Done>>,
}

/// The state of a fit while it runs.
enum Live<'a> {
    /// Running.
    Running { problem: Box<Problem>, session: Session<'a>, failure: Mutex<Option<soma::Failure>> },
    /// All of its draws are in its folder.
    Complete,
    /// It could not be opened.
    Failed(Mutex<Option<Failed>>),
}

impl<'a> Pool<'a> {
    /// A pool of these fits.
    pub fn new(
        args: &'a Args,
        planned: &'a [PlannedFit],
        progress: Option<&'a BatchProgress>,
    ) -> Self {
        let fit = |planned: &'a PlannedFit| Fit {
            planned,
            folder: args.out.as_ref().map(|folder| folder.join(&planned.name)),
            left: AtomicUsize::new(planned.settings.chains),
            live: Mutex::default(),
            done: Mutex::default(),
        };
        let chains = planned.iter().enumerate();
        let chains = chains.flat_map(|(k, fit)| (0..fit.settings.chains).map(move |c| (k, c)));
        Pool {
            args,
            progress,
            fits: planned.iter().map(fit).collect(),
            chains: chains.collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Runs all chains on this many threads.
    pub fn run(&self, threads: NonZeroUsize) {
        let work = || {
            while let Some(&(fit, chain)) =
                self.chains.get(self.next.fetch_add(1, Ordering::Relaxed))
            {
                self.chain(&self.fits[fit], chain);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.get().min(self.chains.len()) {
                scope.spawn(work);
            }
            work();
        });
    }

    /// The results of the fits, in their order.
    pub fn into_done(self) -> Vec<Done> {
        let done = |fit: Fit| fit.done.into_inner().unwrap_or_else(|e| e.into_inner());
        self.fits.into_iter().filter_map(done).collect()
    }

    /// Runs a chain of a fit, and closes the fit after its last one.
    fn chain(&self, fit: &Fit<'a>, chain: usize) {
        if !interrupt::seen() {
            let live = lock(&fit.live).get_or_insert_with(|| Arc::new(self.open(fit))).clone();
            if let Live::Running { problem, session, failure } = &*live
                && lock(failure).is_none()
            {
                let (settings, one) = (&fit.planned.settings, NonZeroUsize::MIN);
                if let Err(error) = session.run(problem, settings, chain..chain + 1, one) {
                    lock(failure).get_or_insert(error);
                }
            }
        }
        if fit.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let live = lock(&fit.live).take().and_then(Arc::into_inner);
            let report = self.close(fit, live);
            let done = Done::of(fit.planned, report, interrupt::seen(), self.args.json);
            if let Some(progress) = self.progress {
                progress.ended(done.verdict);
            }
            *lock(&fit.done) = Some(done);
        }
    }

    fn open(&self, fit: &Fit<'a>) -> Live<'a> {
        self.try_open(fit).unwrap_or_else(|failed| Live::Failed(Mutex::new(Some(failed))))
    }

    fn try_open(&self, fit: &Fit<'a>) -> Result<Live<'a>, Failed> {
        let PlannedFit { spec: text, settings, .. } = fit.planned;
        let shown = self.progress.map(|progress| progress as &dyn Shown);
        // All specs were read before, but one in the folder may have been changed since.
        let spec = Spec::parse(text).map_err(|error| Failed::Input(error.to_string()))?;
        let problem = spec.problem;
        let sink = match &fit.folder {
            None => Sink::memory(settings),
            Some(folder) if folder.join(Manifest::FILE).exists() => {
                let manifest = Manifest::read(folder)?;
                let is_same = soma::spec::same(&manifest.spec, text);
                if is_same && manifest.status == Status::Complete && manifest.settings == *settings
                {
                    if let Some(shown) = shown {
                        shown.advance(settings.iterations() * settings.chains as u64);
                    }
                    return Ok(Live::Complete);
                }
                let given = settings.into();
                let every = self.args.checkpoint;
                Sink::Disk(Box::new(Store::resume(folder, &problem, text, given, every)?))
            }
            Some(folder) => {
                let options = Options {
                    spec: text.clone(),
                    records_thin: spec.output.records_thin,
                    checkpoint_every: self.args.checkpoint,
                    first_chain: 0,
                };
                Sink::Disk(Box::new(Store::create(folder, &problem, settings, options)?))
            }
        };
        let session = Session::new(sink, shown);
        Ok(Live::Running { problem: Box::new(problem), session, failure: Mutex::default() })
    }

    fn close(&self, fit: &Fit<'a>, live: Option<Live<'a>>) -> Result<Report, Failed> {
        let folder = fit.folder.as_deref();
        match live {
            None => Err(Failed::Run("it was not begun".into())),
            Some(Live::Failed(failed)) => {
                let failed = failed.into_inner().unwrap_or_else(|e| e.into_inner());
                Err(failed.unwrap_or_else(|| Failed::Run("it was not begun".into())))
            }
            Some(Live::Complete) => {
                let folder = folder.expect("a complete fit has a folder");
                Report::of_run(&Run::open(folder)?)
            }
            Some(Live::Running { problem, session, failure }) => {
                let failure = failure.into_inner().unwrap_or_else(|e| e.into_inner());
                let outcome = failure.map_or(Ok(()), Err);
                session.sink.close(folder, &problem, &fit.planned.settings, outcome)
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
