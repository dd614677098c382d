//! Guarantees of a run of many chains: the same draws for any number of threads, exact resumption
//! of a stored state, a clean stop, and propagated errors.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use soma::chain::{
    Chain, Collected, Draw, Engine, EngineSnapshot, MovesChoice, Observer, Problem, Settings, run,
    run_chains,
};
use soma::kernel::KernelChoice;
use soma::model::{Model, Normal};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::Mean;
use soma::release::{Aggregate, Release};
use soma::rng::Rng;
use soma::{Failure, Outcome};

fn problem() -> Problem {
    let query = Arc::new(Mean::new(vec![(-5.0, 5.0)]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![0.1]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, 7, vec![0.4]).unwrap();
    Problem::new(release, Arc::new(Normal::new(0.0, 0.1, 2.0, 2.0).unwrap())).unwrap()
}

fn settings() -> Settings {
    Settings { chains: 5, warmup: 10, draws: 40, thin: 3, seed: 7, ..Settings::default() }
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn all_draws(count: usize) -> Vec<Vec<Draw>> {
    let collected = Collected::new(5);
    run(&problem(), &settings(), threads(count), &collected).unwrap();
    collected.into_draws()
}

#[test]
fn draws_do_not_depend_on_threads() {
    let one = all_draws(1);
    assert!(one.iter().all(|chain| chain.len() == 40));
    assert!(one.iter().flatten().all(|draw| draw.counts.moves == 21 && draw.counts.accepted > 0));
    assert_ne!(one[0], one[1]);
    for count in [2, 3, 8] {
        assert_eq!(one, all_draws(count));
    }
}

#[test]
fn chains_can_be_run_apart() {
    let collected = Collected::new(5);
    run_chains(&problem(), &settings(), 3..5, threads(1), &collected).unwrap();
    run_chains(&problem(), &settings(), 0..3, threads(2), &collected).unwrap();
    assert_eq!(collected.into_draws(), all_draws(1));
}

/// Stops after some iterations in total, and keeps the state of each chain.
struct Stopped {
    after: u64,
    made: AtomicU64,
    collected: Collected,
    states: Mutex<Vec<Option<EngineSnapshot>>>,
}

impl Observer for Stopped {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        Ok(self.states.lock().unwrap()[chain].take())
    }

    fn step(&self, _: usize, _: &Engine) -> Outcome {
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        self.collected.draw(chain, draw, state)
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        self.states.lock().unwrap()[chain] = Some(state.snapshot());
        Ok(())
    }

    fn stop(&self) -> bool {
        self.made.load(Ordering::Relaxed) >= self.after
    }
}

/// Stopped at any iteration, in warm-up or between two kept draws, and resumed.
#[test]
fn a_stopped_run_goes_on_bit_for_bit() {
    let whole = all_draws(1);
    for after in [0, 5, 10, 11, 131, 200, 333] {
        let mut observer = Stopped {
            after,
            made: AtomicU64::new(0),
            collected: Collected::new(5),
            states: Mutex::new((0..5).map(|_| None).collect()),
        };
        run(&problem(), &settings(), threads(2), &observer).unwrap();
        assert!(observer.made.load(Ordering::Relaxed) <= after + 2);
        observer.after = u64::MAX;
        run(&problem(), &settings(), threads(1), &observer).unwrap();
        assert_eq!(observer.collected.into_draws(), whole, "stopped after {after}");
    }
}

/// A normal model whose update never ends after some number of calls.
#[derive(Debug)]
struct Endless {
    normal: Normal,
    left: AtomicU64,
    entered: Arc<AtomicBool>,
}

impl Model for Endless {
    fn kind(&self) -> &'static str {
        "endless"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        self.normal.parameters()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.normal.sample_prior(theta, rng)
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        self.normal.log_prior(theta)
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        self.normal.propose(theta, records, rng)
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        self.normal.log_density(theta, record)
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.entered.store(true, Ordering::Relaxed);
            loop {
                soma::interrupt::check()?;
                std::thread::yield_now();
            }
        }
        self.normal.update(theta, records, rng)
    }
}

/// Asks for a stop in the middle of an iteration, and notes how the chain ended.
struct Impatient {
    collected: Collected,
    entered: Arc<AtomicBool>,
    ended_whole: Mutex<Option<bool>>,
}

impl Observer for Impatient {
    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        self.collected.draw(chain, draw, state)
    }

    fn end(&self, _: usize, state: &Engine) -> Outcome {
        *self.ended_whole.lock().unwrap() = Some(state.is_whole());
        Ok(())
    }

    fn stop(&self) -> bool {
        self.entered.load(Ordering::Relaxed)
    }
}

/// The fifth iteration would never end: it is interrupted, and the draws before it are kept.
#[test]
fn a_stop_is_answered_within_an_iteration() {
    let entered = Arc::new(AtomicBool::new(false));
    let model = Endless {
        normal: Normal::new(0.0, 1.0, 3.0, 3.0).unwrap(),
        left: AtomicU64::new(4),
        entered: entered.clone(),
    };
    let problem = Problem::new(problem().release().clone(), Arc::new(model)).unwrap();
    let (kernel, moves) = (KernelChoice::Soma, MovesChoice::Centred);
    let settings = Settings { kernel, moves, chains: 1, warmup: 1, draws: 10, thin: 1, seed: 1 };
    let observer =
        Impatient { collected: Collected::new(1), entered, ended_whole: Mutex::new(None) };
    run(&problem, &settings, threads(1), &observer).unwrap();
    assert_eq!(*observer.ended_whole.lock().unwrap(), Some(false));
    assert_eq!(observer.collected.into_draws()[0].len(), 3);
}

struct Failing;

impl Observer for Failing {
    fn draw(&self, chain: usize, _: Draw, _: &Engine) -> Outcome {
        if chain == 2 { Err(Failure::from("disk full")) } else { Ok(()) }
    }
}

#[test]
fn a_failure_is_returned() {
    let failure = run(&problem(), &settings(), threads(2), &Failing).unwrap_err();
    assert_eq!(failure.to_string(), "disk full");
}

#[test]
fn settings_are_checked() {
    let problem = problem();
    for (field, settings) in [
        ("chains", Settings { chains: 0, ..settings() }),
        ("draws", Settings { draws: 0, ..settings() }),
        ("thin", Settings { thin: 0, ..settings() }),
        ("draws", Settings { draws: u64::MAX, ..settings() }),
        ("draws", Settings { warmup: u64::MAX, ..settings() }),
    ] {
        assert_eq!(settings.check(&problem).unwrap_err().field, field);
    }
}

/// The log density of a draw is that of the release given the records, in the release's unit.
#[test]
fn log_density_is_normalised() {
    struct Check;
    impl Observer for Check {
        fn draw(&self, _: usize, draw: Draw, state: &Engine) -> Outcome {
            let records = state.records();
            let mean = records.iter().map(|x| x.clamp(-5.0, 5.0)).sum::<f64>() / 7.0;
            let expected = -(0.4 - mean).abs() / 0.1 - 0.2f64.ln();
            assert!((draw.log_density - expected).abs() < 1e-12);
            Ok(())
        }
    }
    run(&problem(), &settings(), threads(1), &Check).unwrap();
}

/// Chains with the kernel `auto` are stored at every iteration before, in and after the trial, and
/// continue with the same draws and the same kernel.
#[test]
fn a_trial_of_kernels_goes_on_bit_for_bit() {
    let problem = problem();
    let begin = || {
        let chain = Chain::new(&problem, KernelChoice::Auto, 5, 0).unwrap();
        chain.with_moves(MovesChoice::Auto, 60).unwrap()
    };
    let end = |mut chain: Chain| {
        while chain.iteration() < 80 {
            chain.step().unwrap();
        }
        (chain.theta().to_vec(), chain.records().all().to_vec(), chain.chosen().unwrap().clone())
    };
    let whole = end(begin());
    let mut chain = begin();
    for iteration in 1..65 {
        chain.step().unwrap();
        let stored = serde_json::to_string(&chain.snapshot()).unwrap();
        let restored = Chain::restore(&problem, serde_json::from_str(&stored).unwrap()).unwrap();
        assert_eq!(end(restored), whole, "stored after iteration {iteration}");
        assert_eq!(chain.chosen().is_some(), iteration >= 52, "{iteration}");
    }
}

/// With overwhelming noise every proposal is accepted: Sys-IMwG renews all records in a sweep, SOMA
/// leaves a fraction (1 - 1/n)^n of them, and blocks of 16 (15/16)^16.
#[test]
fn a_trial_finds_how_fast_kernels_mix() {
    let query = Arc::new(Mean::new(vec![(-5.0, 5.0)]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![1e6]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, 320, vec![0.4]).unwrap();
    let model = Arc::new(Normal::new(0.0, 0.1, 2.0, 2.0).unwrap());
    let problem =
        Problem::new(release, model).unwrap().with_fixed(vec![0.0, 1.0], Vec::new()).unwrap();
    let mut chain = Chain::new(&problem, KernelChoice::Auto, 5, 0)
        .unwrap()
        .with_moves(MovesChoice::Auto, 200)
        .unwrap();
    for _ in 0..200 {
        chain.step().unwrap();
    }
    let chosen = chain.chosen().unwrap();
    assert_eq!(chosen.kernel, "sys-imwg");
    let rate = |left: f64| (1.0 - left) / (1.0 + left);
    let right = [1.0, rate((1.0 - 1.0 / 320.0_f64).powi(320)), rate((15.0 / 16.0_f64).powi(16))];
    for (tried, right) in chosen.tried.iter().zip(right) {
        assert!((tried.draws_per_sweep - right).abs() < 0.06, "{tried:?}, not {right}");
        assert_eq!(tried.draws_per_iteration, tried.draws_per_sweep, "theta is fixed");
    }
}
