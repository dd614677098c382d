//! Simulation-based calibration: a test that the chains sample the posterior.
//!
//! Draw theta from the prior, records from the model at theta, and a release of them with the
//! mechanism's noise; then run a chain on that release. theta and the records are a draw from the
//! posterior that the chain samples, so the rank of any function of them among L independent draws
//! of the chain is uniform on 0, ..., L (Talts et al. 2018). An error in a model, a kernel, a theta
//! update or the noise makes the ranks non-uniform.
//!
//! In addition to the outputs (theta, or summaries of the records if theta is fixed) the log
//! density of the release given the records is ranked. It depends on the release too, and detects
//! errors of the noise and of the imputation that theta hardly shows (Modrák et al. 2023).
//!
//! The chain must have converged after warm-up, and must be thinned until its draws are nearly
//! independent: correlated draws give ranks that pile up at the ends although nothing is wrong.

mod autocorrelation;
mod uniformity;

use std::num::NonZeroUsize;

use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use autocorrelation::{Autocorrelation, Series};
pub use uniformity::Uniformity;

use crate::chain::{Engine, MovesChoice, Problem, Settings};
use crate::counts;
use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::kernel::{KernelChoice, Records};
use crate::release::{Release, SizePrior, Total};
use crate::rng::{Rng, stream};
use crate::threads::over_threads;

/// Settings of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The kernel of the records.
    pub kernel: KernelChoice,
    /// The theta updates.
    pub moves: MovesChoice,
    /// The number of simulated releases, with one chain each.
    pub replications: u64,
    /// Iterations of a chain before the first draw.
    pub warmup: u64,
    /// Draws of a chain, L. Ranks run from 0 to L: 15 or 19 make good bins.
    pub draws: u64,
    /// The thinning interval.
    pub thin: u64,
    /// Determines the random streams: the same seed gives the same ranks.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        let (kernel, moves) = (KernelChoice::Auto, MovesChoice::Auto);
        Plan { kernel, moves, replications: 500, warmup: 200, draws: 15, thin: 20, seed: 1 }
    }
}

impl Plan {
    /// Whether the settings are valid for `template`.
    pub fn check(&self, template: &Problem) -> Result<(), Invalid> {
        for (field, value) in
            [("replications", self.replications), ("draws", self.draws), ("thin", self.thin)]
        {
            if value < 1 {
                return Err(Invalid::new(
                    field,
                    "must be positive",
                    value,
                    "a whole number from 1 up",
                ));
            }
        }
        if template.release().total() == Total::Unknown(SizePrior::Flat) {
            return Err(counts::no_draws().under("release"));
        }
        self.settings().check(template)
    }

    /// The settings of each chain.
    fn settings(&self) -> Settings {
        let Plan { kernel, moves, warmup, draws, thin, seed, .. } = *self;
        Settings { kernel, moves, chains: 1, warmup, draws, thin, seed }
    }
}

/// The callbacks of a calibration, called from its threads.
pub trait Observer: Sync {
    /// Called with the number of completed replications.
    fn done(&self, replications: u64) {
        let _ = replications;
    }

    /// Whether to stop now. Called before each replication.
    fn stop(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// The ranks of one quantity, and whether they are uniform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranks {
    /// The name of the quantity: a parameter, a summary of the records, or `log_density`.
    pub name: String,
    /// The rank of the truth in each replication.
    pub ranks: Vec<u64>,
    /// The tests of uniformity.
    pub uniformity: Uniformity,
    /// The autocorrelation of the draws of a chain from one to the next, over all chains, where it is
    /// known: far from 0, chains mix too slowly for their thinning, and ranks say nothing of the sampler.
    pub autocorrelation: Option<Autocorrelation>,
}

/// The results of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Draws of a chain: ranks run from 0 to this.
    pub draws: u64,
    /// Each quantity.
    pub quantities: Vec<Ranks>,
}

impl Calibration {
    /// The results from rows of [`replicate`] for `plan` on `template`, in any order.
    pub fn of(template: &Problem, plan: &Plan, rows: &[Vec<u64>]) -> Self {
        let mut names = template.outputs();
        names.push("log_density".into());
        Calibration::named(names, plan, rows)
    }

    /// The same for rows of the ranks of these quantities.
    pub fn named(names: Vec<String>, plan: &Plan, rows: &[Vec<u64>]) -> Self {
        let quantity = |(k, name): (usize, String)| {
            let ranks: Vec<u64> = rows.iter().map(|row| row[k]).collect();
            let uniformity = Uniformity::of(&ranks, plan.draws);
            Ranks { name, ranks, uniformity, autocorrelation: None }
        };
        let quantities = names.into_iter().enumerate().map(quantity).collect();
        Calibration { draws: plan.draws, quantities }
    }

    /// The quantity whose autocorrelation is the most standard errors above 0, where they are known.
    pub fn slowest(&self) -> Option<(&str, Autocorrelation)> {
        let known = self.quantities.iter();
        let known = known.filter_map(|q| q.autocorrelation.map(|value| (q.name.as_str(), value)));
        known.max_by(|a, b| a.1.score().total_cmp(&b.1.score()))
    }

    /// The smallest p-value of all quantities, times their number (Bonferroni), at most 1.
    pub fn p_value(&self) -> f64 {
        let smallest = self.quantities.iter().map(|q| q.uniformity.p_value()).fold(1.0, f64::min);
        (smallest * self.quantities.len() as f64).min(1.0)
    }
}

/// Calibrates the chains of `plan` on releases like that of `template`, whose values do not matter.
/// The releases are simulated with the noise of `truth`, a release of the same queries, or by
/// default with that of the template, which the chains assume.
///
/// ```
/// use std::{num::NonZeroUsize, sync::Arc};
/// use soma::calibration::{Plan, Unobserved, calibrate};
/// use soma::release::{Aggregate, Mechanism, Release, mechanism::Noise, query::Mean};
/// use soma::{chain::Problem, model::Normal};
///
/// let query = Arc::new(Mean::new(vec![(-5.0, 5.0)])?);
/// let noise = Mechanism::new(Noise::Laplace, vec![0.3])?;
/// let release = Release::new(query, noise, Aggregate::Mean, 5, vec![0.0])?;
/// let problem = Problem::new(release, Arc::new(Normal::new(0.0, 1.0, 3.0, 3.0)?))?;
/// let plan = Plan { replications: 100, ..Plan::default() };
/// let found = calibrate(&problem, None, &plan, NonZeroUsize::MIN, &Unobserved)?;
/// assert!(found.p_value() > 1e-4);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn calibrate(
    template: &Problem,
    truth: Option<&Release>,
    plan: &Plan,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Outcome<Calibration> {
    plan.check(template)?;
    let (stop, done) = (|| observer.stop(), |replications| observer.done(replications));
    let rows = over_threads(plan.replications, threads, &stop, &done, |replication, _| {
        replicate(template, truth, plan, replication)
    })?;
    let rows: Vec<Vec<u64>> = rows.into_iter().map(|(_, ranks)| ranks).collect();
    Ok(Calibration::of(template, plan, &rows))
}

/// One simulated release and its chain: the rank of each quantity. It depends on the index of the
/// replication only, so replications can be run on any machine.
pub fn replicate(
    template: &Problem,
    truth: Option<&Release>,
    plan: &Plan,
    replication: u64,
) -> Outcome<Vec<u64>> {
    let mut rng = stream(plan.seed, 2 * replication);
    let settings = plan.settings();
    let (problem, true_values) = if settings.samples_counts(template) {
        simulate_counts(template, truth, &mut rng)?
    } else {
        simulate(template, truth, &mut rng)?
    };
    let mut chain = Engine::new(&problem, &settings, 2 * replication + 1)?;
    for _ in 0..plan.warmup {
        interrupt::check()?;
        chain.step()?;
    }
    let mut below = vec![0; true_values.len()];
    let mut equal = vec![0; true_values.len()];
    for _ in 0..plan.draws {
        for _ in 0..plan.thin {
            interrupt::check()?;
            chain.step()?;
        }
        let mut drawn = chain.draw();
        drawn.push(chain.log_density());
        for (k, (drawn, truth)) in drawn.iter().zip(&true_values).enumerate() {
            below[k] += u64::from(drawn < truth);
            equal[k] += u64::from(drawn == truth);
        }
    }
    // Ties, as with discrete records, are broken at random.
    Ok(below.iter().zip(&equal).map(|(b, &e)| b + rng.random_range(0..=e)).collect())
}

/// The simulated release of a replication, as a problem, and what is ranked of the truth: for chains
/// that are run elsewhere. The same release that [`replicate`] fits by a kernel on records.
pub fn simulated(
    template: &Problem,
    plan: &Plan,
    replication: u64,
) -> Outcome<(Problem, Vec<f64>)> {
    simulate(template, None, &mut stream(plan.seed, 2 * replication))
}

/// The same of a problem with counts in the place of records: the release that [`replicate`] fits by counts.
pub fn simulated_counts(
    template: &Problem,
    plan: &Plan,
    replication: u64,
) -> Outcome<(Problem, Vec<f64>)> {
    simulate_counts(template, None, &mut stream(plan.seed, 2 * replication))
}

/// theta from the prior (or its fixed value), records from the model, and a release of them; with
/// the true values of the ranked quantities.
fn simulate(
    template: &Problem,
    truth: Option<&Release>,
    rng: &mut Rng,
) -> Outcome<(Problem, Vec<f64>)> {
    let theta = template.draw_theta(rng)?;
    let records = template.simulate_records(&theta, rng)?;
    let problem = template.released(&records, truth.unwrap_or(template.release()), rng)?;
    let records = Records::new(problem.release(), records)?;
    let mut ranked = problem.output(&theta, &records);
    ranked.push(problem.log_density(&records));
    Ok((problem, ranked))
}

/// The same with counts instead of records.
fn simulate_counts(
    template: &Problem,
    truth: Option<&Release>,
    rng: &mut Rng,
) -> Outcome<(Problem, Vec<f64>)> {
    let release = template.release();
    let drawn = template.counts()?.simulate(rng)?;
    let sums: Vec<f64> = drawn.sums.iter().map(|&sum| sum as f64).collect();
    let values = truth.unwrap_or(release).publish_sums(&sums, rng);
    let problem = template.with_release(release.with_values(&values)?)?;
    let log_density = problem.counts()?.log_density_of(&drawn);
    let mut ranked = problem.with_derived(drawn.values);
    ranked.push(log_density);
    Ok((problem, ranked))
}
