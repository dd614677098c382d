//! The data-augmentation loop: records given theta, theta given records.

mod problem;
mod run;
mod start;

use serde::{Deserialize, Serialize};

pub use problem::{Problem, Summary};
pub use run::{Collected, Draw, Observer, Settings, run, run_chains};

use crate::error::Outcome;
use crate::kernel::{Counts, Kernel, KernelChoice, ModelOffers, Records};
use crate::rng::{self, Rng};

/// One chain: theta and the records, advanced by sweeps and theta updates.
///
/// One iteration is a sweep (n moves) and one update of theta. It leaves the joint posterior of
/// theta and the records given the release invariant, since each part does.
#[derive(Debug)]
pub struct Chain<'a> {
    problem: &'a Problem,
    theta: Vec<f64>,
    records: Records,
    kernel: Kernel,
    rng: Rng,
    iteration: u64,
    counts: Counts,
    taken: Counts,
}

/// All of a chain that cannot be recomputed: what a checkpoint holds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapshot {
    theta: Vec<f64>,
    records: Vec<f64>,
    kernel: Kernel,
    #[serde(with = "crate::rng")]
    rng: Rng,
    iteration: u64,
    counts: Counts,
    taken: Counts,
}

impl Snapshot {
    /// How many iterations had been made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }
}

impl<'a> Chain<'a> {
    /// Chain number `index` under `seed`, at its start.
    pub fn new(problem: &'a Problem, kernel: KernelChoice, seed: u64, index: u64) -> Outcome<Self> {
        let mut rng = rng::stream(seed, index);
        let theta = start::theta(problem, &mut rng)?;
        let records = start::records(problem, &theta, &mut rng)?;
        let kernel = kernel.build(problem.release().n())?;
        Ok(Chain {
            problem,
            theta,
            records,
            kernel,
            rng,
            iteration: 0,
            counts: Counts::default(),
            taken: Counts::default(),
        })
    }

    /// A chain that starts at theta and records of the caller's choice, drawing from `rng`.
    pub fn at(
        problem: &'a Problem,
        kernel: KernelChoice,
        theta: Vec<f64>,
        records: Vec<f64>,
        rng: Rng,
    ) -> Outcome<Self> {
        let kernel = kernel.build(problem.release().n())?;
        let records = Records::new(problem.release(), records)?;
        let (counts, taken) = (Counts::default(), Counts::default());
        Ok(Chain { problem, theta, records, kernel, rng, iteration: 0, counts, taken })
    }

    /// One iteration: a sweep of the records, then an update of theta.
    pub fn step(&mut self) -> Outcome<Counts> {
        let release = self.problem.release();
        let model = self.problem.model();
        let shape = release.mechanism().noise().shape();
        let mut offers = ModelOffers::new(model, &self.theta, release);
        let counts = self.kernel.sweep(&mut self.records, &mut offers, shape, &mut self.rng)?;
        if self.problem.fixed().is_none() {
            model.update(&mut self.theta, self.records.all(), &mut self.rng)?;
        }
        self.iteration += 1;
        self.counts += counts;
        Ok(counts)
    }

    /// What a draw holds of the present state, in the order of [`Problem::outputs`].
    pub fn draw(&self) -> Vec<f64> {
        self.problem.output(&self.theta, &self.records)
    }

    /// The parameters.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The imputed records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// How many iterations have been made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// What all sweeps so far did.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the sweeps did since this was last asked.
    pub fn take_counts(&mut self) -> Counts {
        let since = self.counts - self.taken;
        self.taken = self.counts;
        since
    }

    /// The chain as it is now, to be stored.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            theta: self.theta.clone(),
            records: self.records.all().to_vec(),
            kernel: self.kernel.clone(),
            rng: rng::copy(&self.rng),
            iteration: self.iteration,
            counts: self.counts,
            taken: self.taken,
        }
    }

    /// The chain that was stored: it goes on exactly as the one that was not.
    pub fn restore(problem: &'a Problem, snapshot: Snapshot) -> Outcome<Self> {
        let Snapshot { theta, records, kernel, rng, iteration, counts, taken } = snapshot;
        let release = problem.release();
        let fits = records.len() == release.n() * release.query().record_dim();
        if !fits || theta.len() != problem.model().parameters().len() {
            return Err("the stored state of the chain is of another problem".into());
        }
        let records = Records::new(release, records)?;
        Ok(Chain { problem, theta, records, kernel, rng, iteration, counts, taken })
    }
}
