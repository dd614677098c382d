//! `kernel = "auto"`: a trial of the kernels in warm-up, which chooses one.

mod theta;

use serde::{Deserialize, Serialize};
use theta::ThetaMoves;

use super::{Problem, Schedule};
use crate::error::Outcome;
use crate::kernel::{Counts, Kernel, KernelChoice, Proposals, Records};
use crate::release::{Potential, Release};
use crate::rng::Rng;
use crate::stored::{Check, ensure};

/// The number of lags of the autocorrelations.
const LAGS: usize = 8;

/// The largest number of rounds; each candidate has one turn per round.
const MOST_ROUNDS: u64 = 16;

/// The smallest number of records followed per candidate.
const FOLLOWED: usize = 6000;

/// Up to this number of records the trial follows their mean and quantiles: the release constrains
/// the records jointly, so that what one loses another gains. With more records there would be too
/// few sweeps to estimate these.
const FEW: usize = 24;

/// The mean, the extremes and the quartiles.
const MARKS: usize = 6;

/// The cost of drawing a record above which the trial is short.
const DEAR: f64 = 10.0;

/// A candidate leaves the trial after one sweep that costs so many times one of the first candidate, if
/// [`GOOD`] holds: where a release is known by its density alone, some kernels weigh all records in each
/// move.
const FAR_DEARER: f64 = 16.0;

/// A sweep of the first candidate that is worth so many draws leaves at most a factor of 2 to gain.
const GOOD: f64 = 0.5;

/// The smallest autocorrelation of a sweep: smaller ones cannot be told from zero.
const LEAST_LEFT: f64 = 0.02;

/// The start of the trial as a fraction of warm-up: after the theta updates have been chosen.
pub(super) const KERNEL_TRIAL: f64 = 0.625;

/// The work of an iteration besides its sweep and the theta updates, in passes over one record.
pub const ITERATION_WORK: f64 = 60.0;

/// The results of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The name of the kernel.
    pub kernel: String,
    /// Effective draws per sweep: 1 / (1 + 2 (r_1 + r_2 + ...)), where r_k is the lag-k
    /// autocorrelation of the record at a place, or of means and quantiles of few records.
    pub draws_per_sweep: f64,
    /// Effective draws per iteration, which includes the theta updates.
    pub draws_per_iteration: f64,
    /// The work of an iteration with this kernel, including the theta updates, in passes over one
    /// record.
    pub work: f64,
    /// Effective draws per unit of work, relative to the best candidate.
    pub merit: f64,
}

/// The kernel chosen by `auto`, and the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The name of the kernel.
    pub kernel: String,
    /// The results of all candidates; empty if the warm-up was too short.
    pub tried: Vec<Tried>,
}

/// A trial of kernels, in the second half of warm-up.
///
/// Each iteration of it makes sweeps of one candidate. All candidates leave the conditional of the
/// records invariant. Work is counted and not timed, so that the same seed chooses the same kernel
/// on every machine. After the trial the kernel is fixed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    from: u64,
    rounds: u64,
    /// How often the records are followed per turn.
    repeats: usize,
    /// Whether their mean and quantiles are followed.
    is_few: bool,
    candidates: Vec<Candidate>,
    /// The theta updates, unless theta is fixed.
    theta: Option<ThetaMoves>,
    iterations: u64,
    chosen: Option<Chosen>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Candidate {
    choice: KernelChoice,
    kernel: Kernel,
    sweeps: u64,
    work: f64,
    /// For each coordinate of a record, or each summary of it: its variance and its autocovariances
    /// at lags 1, 2, ..., summed over all that was followed.
    variance: Vec<f64>,
    covariances: Vec<[f64; LAGS]>,
    followed: f64,
}

impl Trial {
    /// The trial in a warm-up of `warmup` iterations on the records of `problem`.
    pub(super) fn new(warmup: u64, problem: &Problem) -> Outcome<Self> {
        let n = problem.release().n();
        let candidates = KernelChoice::candidates(n);
        let turns = candidates.len() as u64;
        let mut enough = FOLLOWED.div_ceil(n);
        if problem.model().price(n).draw > DEAR {
            // Sweeps are expensive, so the trial makes about as many as the rest of warm-up.
            enough = enough.min((warmup / turns) as usize / LAGS).max(1);
        }
        let rounds = (warmup / (4 * turns)).min(MOST_ROUNDS).min(enough.max(2) as u64);
        let candidate = |choice: KernelChoice| -> Outcome<Candidate> {
            Ok(Candidate {
                choice,
                kernel: choice.build(n)?,
                sweeps: 0,
                work: 0.0,
                variance: Vec::new(),
                covariances: Vec::new(),
                followed: 0.0,
            })
        };
        let untried = KernelChoice::Auto.settled().name().to_string();
        let untried = Chosen { kernel: untried, tried: Vec::new() };
        Ok(Trial {
            from: (KERNEL_TRIAL * warmup as f64) as u64,
            rounds,
            repeats: if rounds > 0 { enough.div_ceil(rounds as usize) } else { 0 },
            is_few: n <= FEW,
            candidates: candidates.into_iter().map(candidate).collect::<Outcome<_>>()?,
            theta: problem.fixed().is_none().then(ThetaMoves::default),
            iterations: 0,
            chosen: (rounds == 0).then_some(untried),
        })
    }

    /// Whether this is a valid trial in a warm-up of `warmup` iterations, with sweeps of the records of
    /// the release `swept`.
    pub(super) fn check(&self, problem: &Problem, swept: &Release, warmup: u64) -> Check {
        let begun = Trial::new(warmup, problem).map_err(|failure| failure.to_string())?;
        let plan = |trial: &Trial| {
            (trial.from, trial.rounds, trial.repeats, trial.is_few, trial.theta.is_some())
        };
        ensure(plan(self) == plan(&begun), "the trial of kernels is of another warm-up")?;
        let candidates = KernelChoice::candidates(problem.release().n());
        let turns = self.rounds * candidates.len() as u64;
        if self.chosen.is_some() {
            return ensure(
                self.iterations == turns,
                "a kernel was chosen before the end of the trial",
            );
        }
        ensure(self.iterations < turns, "the trial of kernels did not end")?;
        let tried = self.candidates.iter().map(|candidate| candidate.choice);
        ensure(tried.eq(candidates), "the trial has other candidates")?;
        for Candidate { choice, kernel, variance, covariances, .. } in &self.candidates {
            ensure(kernel.is_of(*choice), "a candidate of the trial is another kernel")?;
            ensure(
                variance.len() == covariances.len(),
                "the figures of a candidate are inconsistent",
            )?;
            kernel.check(swept)?;
        }
        let p = problem.model().parameters().len();
        self.theta.as_ref().map_or(Ok(()), |theta| theta.check(p))
    }

    /// The chosen kernel, after the trial.
    pub(super) fn chosen(&self) -> Option<&Chosen> {
        self.chosen.as_ref()
    }

    /// Whether the trial begins in this iteration.
    pub(super) fn begins_at(&self, iteration: u64) -> bool {
        self.is_on(iteration) && iteration == self.from
    }

    /// Whether the trial runs in this iteration.
    pub(super) fn is_on(&self, iteration: u64) -> bool {
        self.chosen.is_none() && iteration >= self.from
    }

    /// The sweeps of an iteration of the trial, and their work.
    pub(super) fn sweep(
        &mut self,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<(Counts, f64)> {
        let turn = self.iterations as usize % self.candidates.len();
        let first = &self.candidates[0];
        let is_good = first.followed > 0.0 && first.draws_per_sweep() >= GOOD;
        let most = if is_good { FAR_DEARER * first.work_of_a_sweep() } else { f64::INFINITY };
        let turn = if self.candidates[turn].has_left() { 0 } else { turn };
        let candidate = &mut self.candidates[turn];
        let before = candidate.work;
        let mut sweeps = Sweeps { records, proposals, potential, rng, counts: Counts::default() };
        if self.is_few {
            candidate.follow_marks(self.repeats, &mut sweeps)?;
        } else {
            for _ in 0..self.repeats {
                candidate.follow(&mut sweeps, most)?;
            }
        }
        Ok((sweeps.counts, candidate.work - before))
    }

    /// The initial kernel.
    pub(super) fn first(&self) -> KernelChoice {
        match self.chosen {
            Some(_) => KernelChoice::Auto.settled(),
            None => self.candidates[0].choice,
        }
    }

    /// Called at the end of an iteration of the trial, in which the theta updates, the `moves`, led
    /// from `before` to `after` and cost `work`. Returns the chosen kernel at the end of the trial.
    pub(super) fn learn(
        &mut self,
        before: &[f64],
        after: &[f64],
        work: f64,
        moves: &Schedule,
    ) -> Option<Kernel> {
        if let Some(theta) = &mut self.theta {
            theta.watch(before, moves.centred_theta(), after, work);
        }
        self.iterations += 1;
        if self.iterations < self.rounds * self.candidates.len() as u64 {
            return None;
        }
        let first = self.candidates[0].draws_per_sweep();
        let judged = |candidate: &Candidate| candidate.judged(first, self.theta.as_ref(), moves);
        let mut tried: Vec<Tried> = self.candidates.iter().map(judged).collect();
        let best = (0..tried.len()).max_by(|&a, &b| tried[a].merit.total_cmp(&tried[b].merit))?;
        let most = tried[best].merit;
        tried.iter_mut().for_each(|one| one.merit /= most);
        self.chosen = Some(Chosen { kernel: tried[best].kernel.clone(), tried });
        let kernel = self.candidates.swap_remove(best).kernel;
        self.candidates.clear();
        Some(kernel)
    }
}

/// The arguments and results of the sweeps of an iteration.
struct Sweeps<'a> {
    records: &'a mut Records,
    proposals: &'a mut dyn Proposals,
    potential: &'a Potential,
    rng: &'a mut Rng,
    counts: Counts,
}

impl Candidate {
    fn sweep(&mut self, at: &mut Sweeps) -> Outcome {
        let made = self.kernel.sweep(at.records, at.proposals, at.potential, at.rng)?;
        self.work += self.kernel.work(made);
        self.sweeps += 1;
        at.counts += made;
        Ok(())
    }

    fn work_of_a_sweep(&self) -> f64 {
        self.work / self.sweeps.max(1) as f64
    }

    /// Whether its first sweep was too dear for a second one.
    fn has_left(&self) -> bool {
        self.sweeps > 0 && self.followed == 0.0
    }

    /// Makes sweeps, and compares the records after each with those before the first. A candidate whose
    /// sweep costs more than `most` makes one.
    fn follow(&mut self, at: &mut Sweeps, most: f64) -> Outcome {
        if self.has_left() {
            return Ok(());
        }
        let before = at.records.all().to_vec();
        let n = at.records.n();
        let d = before.len() / n;
        self.variance.resize(d, 0.0);
        self.covariances.resize(d, [0.0; LAGS]);
        let means: Vec<f64> =
            (0..d).map(|c| before[c..].iter().step_by(d).sum::<f64>() / n as f64).collect();
        self.sweep(at)?;
        if self.followed == 0.0 && self.work_of_a_sweep() > most {
            return Ok(());
        }
        for row in before.chunks_exact(d) {
            for column in 0..d {
                self.variance[column] += (row[column] - means[column]).powi(2);
            }
        }
        for lag in 0..LAGS {
            if lag > 0 {
                self.sweep(at)?;
            }
            for (old, new) in before.chunks_exact(d).zip(at.records.all().chunks_exact(d)) {
                for column in 0..d {
                    let product = (old[column] - means[column]) * (new[column] - means[column]);
                    self.covariances[column][lag] += product;
                }
            }
        }
        self.followed += n as f64;
        Ok(())
    }

    /// Makes as many sweeps as `repeats` calls of [`follow`](Candidate::follow), and follows the
    /// mean and some quantiles of each coordinate.
    fn follow_marks(&mut self, repeats: usize, at: &mut Sweeps) -> Outcome {
        let n = at.records.n();
        let d = at.records.all().len() / n;
        self.variance.resize(MARKS * d, 0.0);
        self.covariances.resize(MARKS * d, [0.0; LAGS]);
        let mut series = vec![Vec::with_capacity(repeats * LAGS); MARKS * d];
        let mut sorted = Vec::with_capacity(n);
        for _ in 0..repeats * LAGS {
            self.sweep(at)?;
            for (column, series) in series.chunks_exact_mut(MARKS).enumerate() {
                sorted.clear();
                sorted.extend(at.records.all()[column..].iter().step_by(d).copied());
                sorted.sort_unstable_by(f64::total_cmp);
                series[0].push(sorted.iter().sum::<f64>() / n as f64);
                for (quarter, series) in series[1..].iter_mut().enumerate() {
                    series.push(sorted[quarter * (n - 1) / 4]);
                }
            }
        }
        let found = self.variance.iter_mut().zip(&mut self.covariances);
        for (series, (variance, covariances)) in series.iter_mut().zip(found) {
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            series.iter_mut().for_each(|x| *x -= mean);
            let pairs = |lag: usize| series.iter().zip(&series[lag..]).map(|(a, b)| a * b);
            *variance += pairs(0).sum::<f64>();
            for (lag, covariance) in covariances.iter_mut().enumerate() {
                *covariance += pairs(lag + 1).sum::<f64>();
            }
        }
        self.followed += (repeats * LAGS) as f64;
        Ok(())
    }

    /// Effective draws per sweep, the minimum over coordinates.
    fn draws_per_sweep(&self) -> f64 {
        let columns = self.variance.iter().zip(&self.covariances);
        columns
            .map(|(variance, covariances)| {
                let correlations = covariances.map(|sum| sum / variance);
                draws_per_sweep(&correlations, self.followed)
            })
            .fold(1.0, f64::min)
    }

    /// The results, with an absolute merit. A sweep of the first candidate, with which the theta
    /// updates were chosen, is worth `first` draws; one of a candidate that has left counts as much, for
    /// more work.
    fn judged(&self, first: f64, theta: Option<&ThetaMoves>, moves: &Schedule) -> Tried {
        let draws_per_sweep = if self.has_left() { first } else { self.draws_per_sweep() };
        let draws_per_iteration = match (theta, moves.outlook()) {
            (None, _) => draws_per_sweep,
            (Some(_), Some(outlook)) => outlook.draws(decay(draws_per_sweep) / decay(first)),
            (Some(theta), None) => other(theta.left(other(draws_per_sweep))),
        };
        let theta_work = theta.map_or(0.0, ThetaMoves::work);
        let work = self.work_of_a_sweep() / moves.every() as f64 + theta_work + ITERATION_WORK;
        Tried {
            kernel: self.choice.name().to_string(),
            draws_per_sweep,
            draws_per_iteration,
            work,
            merit: draws_per_iteration / work,
        }
    }
}

/// The effective draws per step at an autocorrelation, and its inverse: the same formula.
fn other(of: f64) -> f64 {
    (1.0 - of) / (1.0 + of)
}

/// The log autocorrelation of a sweep that is worth `draws` effective draws.
fn decay(draws: f64) -> f64 {
    other(draws).clamp(LEAST_LEFT, 1.0 - 1e-6).ln()
}

/// 1 / (1 + 2 (r_1 + r_2 + ...)) from the first autocorrelations, estimated from `followed` values.
/// Beyond the last lag they are extrapolated geometrically; they are truncated at the first that is
/// below twice its standard error.
fn draws_per_sweep(correlations: &[f64; LAGS], followed: f64) -> f64 {
    let error = 2.0 / followed.sqrt();
    let mut sum = 0.0;
    for (lag, &r) in correlations.iter().enumerate() {
        if r < error {
            return 1.0 / (1.0 + 2.0 * sum);
        }
        sum += r.min(1.0);
        if lag + 1 == LAGS {
            let fall = (r / correlations[LAGS / 2 - 1]).powf(2.0 / LAGS as f64).clamp(0.0, 0.99);
            sum += r * fall / (1.0 - fall);
        }
    }
    1.0 / (1.0 + 2.0 * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Correlations that fall by a constant factor give (1 - rho) / (1 + rho).
    #[test]
    fn geometric_correlations_are_summed() {
        for rho in [0.05_f64, 0.5, 0.8, 0.95] {
            let correlations = std::array::from_fn(|lag| rho.powi(lag as i32 + 1));
            let found = draws_per_sweep(&correlations, 1e9);
            let right = (1.0 - rho) / (1.0 + rho);
            assert!((found / right - 1.0).abs() < 1e-3, "{rho}: {found}, not {right}");
        }
        assert_eq!(draws_per_sweep(&[0.01; LAGS], 100.0), 1.0);
    }
}
