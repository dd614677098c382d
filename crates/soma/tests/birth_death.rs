//! n unknown: against the published single-site chain.
//!
//! Awan, Barrientos and Ju (arXiv 2406.06231) alternate theta given the records, a proposal from the
//! model for each record in turn, accepted by the density of the release (Sys-IMwG), and one step of
//! n: with probability 1/2 a record of the model is added, otherwise one is removed. It is written
//! here over the models, queries and laws of the library, with proposals and their statistics in
//! batches, so that it is as fast as it can be made.
//!
//! `cargo test --release -p soma-mcmc --test birth_death -- --ignored --nocapture` prints the effective
//! draws a second of both, in seconds of the processor that the thread had (on Linux).

use std::time::Duration;

use rand::RngExt;
use soma::chain::{Engine, Problem, Settings, Tally};
use soma::diagnostics::{ess_bulk, mcse_mean};
use soma::release::mechanism::Noise;
use soma::release::{Aggregate, Part, SizePrior, Total};
use soma::rng::{Rng, stream};
use soma::spec::Spec;

/// The published chain.
struct BirthDeath<'a> {
    problem: &'a Problem,
    /// The records that there are, and their statistics of all parts, row by row.
    records: Vec<f64>,
    statistics: Vec<f64>,
    sums: Vec<f64>,
    trial: Vec<f64>,
    /// The published sums, each with one over the scale of its noise.
    published: Vec<(f64, f64)>,
    cost: f64,
    theta: Vec<f64>,
    /// Steps of n in a cycle: 1 as published.
    births: usize,
    rng: Rng,
}

impl<'a> BirthDeath<'a> {
    fn new(problem: &'a Problem, theta: Vec<f64>, n: usize, births: usize, mut rng: Rng) -> Self {
        let mut records = vec![0.0; n * problem.record_model().record_dim()];
        problem.record_model().propose(&theta, &mut records, &mut rng).unwrap();
        let statistics = statistics(problem, &records);
        let k = statistics.len() / n.max(1);
        let mut sums = vec![0.0; k];
        for row in statistics.chunks_exact(k) {
            sums.iter_mut().zip(row).for_each(|(sum, t)| *sum += t);
        }
        let (trial, published) = (sums.clone(), published(problem));
        let cost = cost(&published, &sums);
        BirthDeath {
            problem,
            records,
            statistics,
            sums,
            trial,
            published,
            cost,
            theta,
            births,
            rng,
        }
    }

    fn n(&self) -> usize {
        self.statistics.len() / self.sums.len()
    }

    /// theta, every record, and n.
    fn cycle(&mut self) {
        let model = self.problem.record_model();
        model.update(&mut self.theta, &self.records, &mut self.rng).unwrap();
        let (d, k) = (model.record_dim(), self.sums.len());
        let mut proposed = vec![0.0; self.records.len() + self.births * d];
        model.propose(&self.theta, &mut proposed, &mut self.rng).unwrap();
        let (births, proposed) = proposed.split_at(self.births * d);
        let rows = statistics(self.problem, proposed);
        for i in 0..self.n() {
            let (old, new) = (i * k..(i + 1) * k, &rows[i * k..(i + 1) * k]);
            let own = self.statistics[old.clone()].iter().zip(new);
            let all = self.trial.iter_mut().zip(&self.sums).zip(own);
            all.for_each(|((trial, sum), (a, b))| *trial = sum - a + b);
            if self.accepts(0.0) {
                self.statistics[old].copy_from_slice(new);
                self.records[i * d..(i + 1) * d].copy_from_slice(&proposed[i * d..(i + 1) * d]);
            }
        }
        for birth in births.chunks_exact(d) {
            self.step_of_n(birth);
        }
        self.resum();
    }

    /// One record more or less. The records are exchangeable and drawn from the model, so that what is
    /// left of the ratio is the prior of n.
    fn step_of_n(&mut self, birth: &[f64]) {
        let (n, d, k) = (self.n(), birth.len(), self.sums.len());
        if self.rng.random() {
            let row = statistics(self.problem, birth);
            let all = self.trial.iter_mut().zip(&self.sums).zip(&row);
            all.for_each(|((trial, sum), t)| *trial = sum + t);
            if self.accepts(log_prior(self.problem, n + 1) - log_prior(self.problem, n)) {
                self.records.extend_from_slice(birth);
                self.statistics.extend_from_slice(&row);
            }
        } else if n > 0 {
            let i = self.rng.random_range(0..n);
            let row = &self.statistics[i * k..(i + 1) * k];
            let all = self.trial.iter_mut().zip(&self.sums).zip(row);
            all.for_each(|((trial, sum), t)| *trial = sum - t);
            if self.accepts(log_prior(self.problem, n - 1) - log_prior(self.problem, n)) {
                let last = n - 1;
                self.records.copy_within(last * d..n * d, i * d);
                self.statistics.copy_within(last * k..n * k, i * k);
                self.records.truncate(last * d);
                self.statistics.truncate(last * k);
            }
        }
    }

    /// Whether the trial sums are accepted; if so, they are the present ones.
    fn accepts(&mut self, log_ratio: f64) -> bool {
        let cost = cost(&self.published, &self.trial);
        let level = self.cost - cost + log_ratio;
        let accepted = level >= 0.0 || self.rng.random::<f64>() < level.exp();
        if accepted {
            std::mem::swap(&mut self.sums, &mut self.trial);
            self.cost = cost;
        }
        accepted
    }

    /// The sums anew, against the drift of rounding.
    fn resum(&mut self) {
        self.sums.fill(0.0);
        for row in self.statistics.chunks_exact(self.sums.len()) {
            self.sums.iter_mut().zip(row).for_each(|(sum, t)| *sum += t);
        }
        self.cost = cost(&self.published, &self.sums);
    }

    fn draw(&self) -> Vec<f64> {
        [&self.theta[..], &[self.n() as f64]].concat()
    }
}

/// The statistics of all parts of each record.
fn statistics(problem: &Problem, records: &[f64]) -> Vec<f64> {
    let parts = problem.release().published_parts();
    let n = records.len() / problem.record_model().record_dim();
    let k: usize = parts.iter().map(|part| part.query().dim()).sum();
    let (mut all, mut first) = (vec![0.0; n * k], 0);
    for part in parts {
        let own = part.query().dim();
        let mut rows = vec![0.0; n * own];
        part.query().statistics(records, &mut rows).unwrap();
        for (to, from) in all.chunks_exact_mut(k).zip(rows.chunks_exact(own)) {
            to[first..first + own].copy_from_slice(from);
        }
        first += own;
    }
    all
}

/// What was published, and one over the scale of its noise, which is Laplace or its discrete kind.
fn published(problem: &Problem) -> Vec<(f64, f64)> {
    let of = |part: &Part| {
        assert_eq!(part.aggregate(), Aggregate::Sum);
        let law = part.mechanism().unwrap();
        assert!(matches!(law.noise(), Noise::Laplace | Noise::DiscreteLaplace));
        let each = part.values().iter().zip(law.scales());
        each.map(|(value, scale)| (*value, scale.recip())).collect::<Vec<_>>()
    };
    problem.release().published_parts().iter().flat_map(of).collect()
}

/// Minus the log density of the release, up to a constant.
#[inline]
fn cost(published: &[(f64, f64)], sums: &[f64]) -> f64 {
    published.iter().zip(sums).map(|((value, rate), sum)| (value - sum).abs() * rate).sum()
}

fn log_prior(problem: &Problem, n: usize) -> f64 {
    match problem.release().total() {
        Total::Unknown(SizePrior::Flat) => 0.0,
        Total::Unknown(SizePrior::Poisson { mean }) => {
            n as f64 * mean.ln() - statrs::function::gamma::ln_gamma(n as f64 + 1.0)
        }
        other => panic!("{other:?}"),
    }
}

/// The time that this thread has had on a processor.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// Columns of the draws of four chains of the library, and the seconds that the draws took and that
/// warm-up took.
fn library(problem: &Problem, warmup: u64, draws: usize) -> (Vec<Vec<Vec<f64>>>, [f64; 2]) {
    let mut seconds = [0.0; 2];
    let settings = Settings { warmup, seed: 3, ..Settings::default() };
    let mut columns = vec![vec![Vec::new(); 4]; problem.output_count()];
    for index in 0..4 {
        let begun = processor_time();
        let mut engine = Engine::new(problem, &settings, index as u64).unwrap();
        (0..warmup).for_each(|_| engine.step().unwrap());
        let warm = processor_time();
        for _ in 0..draws {
            engine.step().unwrap();
            let values = engine.draw();
            columns.iter_mut().zip(values).for_each(|(chains, x)| chains[index].push(x));
        }
        seconds[0] += (processor_time() - warm).as_secs_f64();
        seconds[1] += (warm - begun).as_secs_f64();
        if index == 0 && draws > 100 {
            let tried = engine.chosen().map_or_else(String::new, |chosen| chosen.kernel);
            println!("kernel {tried}");
            for made in engine.moves() {
                let Tally { proposed, accepted, .. } = made.tally;
                let rate = 100.0 * accepted as f64 / proposed.max(1) as f64;
                let (name, share) = (&made.name, 100.0 * made.share);
                println!(
                    "  {name}: {} a step, accepted {rate:.0}%, {share:.0}% of the work",
                    made.repeats
                );
            }
        }
    }
    (columns, seconds)
}

/// The same of the published chain, for about so long, each chain begun at a draw of the library: it
/// has no warm-up.
fn rival(
    problem: &Problem,
    starts: &[Vec<Vec<f64>>],
    births: usize,
    time: Duration,
) -> (Vec<Vec<Vec<f64>>>, f64, u64) {
    let (mut columns, mut cycles) = (vec![vec![Vec::new(); 4]; starts.len()], 0);
    let begun = processor_time();
    for index in 0..4 {
        let at: Vec<f64> = starts.iter().map(|chains| *chains[index].last().unwrap()).collect();
        let (n, theta) = at.split_last().unwrap();
        let rng = stream(5, index as u64);
        let mut chain = BirthDeath::new(problem, theta.to_vec(), *n as usize, births, rng);
        while processor_time() - begun < time.mul_f64((index + 1) as f64 / 4.0) {
            chain.cycle();
            cycles += 1;
            columns.iter_mut().zip(chain.draw()).for_each(|(c, x)| c[index].push(x));
        }
    }
    // Chains of the same length.
    let least = columns[0].iter().map(Vec::len).min().unwrap();
    columns.iter_mut().flatten().for_each(|chain| chain.truncate(least));
    (columns, (processor_time() - begun).as_secs_f64(), cycles)
}

fn mean(chains: &[Vec<f64>]) -> f64 {
    let count: usize = chains.iter().map(Vec::len).sum();
    chains.iter().flatten().sum::<f64>() / count as f64
}

/// Both have the same posterior: a normal mean of few records, with a noisy count.
#[test]
fn the_published_chain_has_the_same_posterior() {
    let text = r#"
        [release]
        n = { prior = "poisson", mean = 12 }
        [[release.parts]]
        name = "sum"
        query = { kind = "mean", clamp = [-3.0, 3.0] }
        statistic = "sum"
        values = [7.0]
        mechanism = { kind = "laplace", scale = 3.0 }
        [[release.parts]]
        name = "count"
        query = { kind = "count" }
        statistic = "sum"
        values = [15]
        mechanism = { kind = "discrete-laplace", scale = 2.0 }
        [model]
        kind = "normal"
        prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.5, shape = 4.0, rate = 3.0 }
    "#;
    let spec = Spec::parse(text).unwrap();
    let (ours, _) = library(&spec.problem, 500, 4000);
    let mut theirs = vec![vec![Vec::new(); 4]; 3];
    for index in 0..4 {
        let rng = stream(6, index as u64);
        let mut chain = BirthDeath::new(&spec.problem, vec![0.3, 1.0], 12, 5, rng);
        for cycle in 0..9000 {
            chain.cycle();
            if cycle >= 1000 {
                theirs.iter_mut().zip(chain.draw()).for_each(|(c, x)| c[index].push(x));
            }
        }
    }
    for ((name, ours), theirs) in spec.problem.outputs().iter().zip(&ours).zip(&theirs) {
        for power in [1, 2] {
            let raised = |chains: &[Vec<f64>]| -> Vec<Vec<f64>> {
                chains.iter().map(|c| c.iter().map(|x| x.powi(power)).collect()).collect()
            };
            let (ours, theirs) = (raised(ours), raised(theirs));
            let error = mcse_mean(&ours).hypot(mcse_mean(&theirs));
            let gap = mean(&ours) - mean(&theirs);
            assert!(gap.abs() < 4.5 * error, "{name}^{power}: {gap} +- {error}");
        }
    }
}

/// 1,000 records of the regression of the paper, with the exact Gram statistics at epsilon 0.9 and a
/// count at epsilon 0.1.
fn regression() -> Spec {
    let text = |gram: &str, count: f64| {
        format!(
            r#"
            [release]
            n = "unknown"
            neighbours = "add-remove"
            [[release.parts]]
            name = "gram"
            query = {{ kind = "gram", predictors = 2, clamp = [-6.0, 6.0] }}
            statistic = "sum"
            values = [{gram}]
            mechanism = {{ kind = "laplace", epsilon = 0.9 }}
            [[release.parts]]
            name = "count"
            query = {{ kind = "count" }}
            statistic = "sum"
            values = [{count}]
            mechanism = {{ kind = "discrete-laplace", epsilon = 0.1 }}
            [model]
            kind = "regression"
            predictors = {{ mean = [0.9, -1.17] }}
            prior = {{ kind = "normal-inverse-gamma", mean = 0.0, precision = 0.5, shape = 10.0, rate = 10.0 }}
            "#
        )
    };
    let blank = Spec::parse(&text("0, 0, 0, 0, 0, 0, 0, 0, 0", 1000.0)).unwrap();
    let mut rng = stream(1, 0);
    let theta = [-1.5, 0.6, -0.8, 1.0];
    let chain = BirthDeath::new(&blank.problem, theta.to_vec(), 1000, 1, stream(2, 0));
    let parts = blank.problem.release().published_parts();
    let gram = parts[0].mechanism().unwrap();
    let noisy: Vec<String> = chain.sums[..9]
        .iter()
        .zip(gram.scales())
        .map(|(sum, &scale)| (sum + gram.noise().sample(scale, &mut rng)).to_string())
        .collect();
    let count = parts[1].mechanism().unwrap();
    let count = 1000.0 + count.noise().sample(count.scales()[0], &mut rng);
    Spec::parse(&text(&noisy.join(", "), count)).unwrap()
}

/// Effective draws of n and of each parameter a second.
#[test]
#[ignore = "measures for minutes"]
fn effective_draws_a_second() {
    let spec = regression();
    let problem = &spec.problem;
    let (ours, [seconds, warmup]) = library(problem, 1000, 4000);
    let names = problem.outputs();
    let of = |columns: &[Vec<Vec<f64>>]| columns.iter().map(|c| ess_bulk(c)).collect::<Vec<_>>();
    let (own, iterations) = (of(&ours), 4.0 * 4000.0);
    let each = 1e6 * seconds / iterations;
    println!(
        "SOMA: 4 chains of 4000 iterations in {seconds:.1} s, {each:.0} us each; warm-up {warmup:.1} s"
    );
    for births in [1, 100] {
        let (theirs, time, cycles) = rival(problem, &ours, births, Duration::from_secs(15));
        let other = of(&theirs);
        let each = 1e6 * time / cycles as f64;
        println!(
            "birth-death, {births} steps of n a cycle: {cycles} cycles in {time:.1} s, {each:.0} us each"
        );
        println!(
            "{:>8} {:>12} {:>12} {:>12} {:>12} {:>8}  mean (SOMA, other)",
            "", "SOMA ESS/it", "other", "SOMA ESS/s", "other", "ratio"
        );
        for (k, name) in names.iter().enumerate() {
            let per_draw = [own[k] / iterations, other[k] / cycles as f64];
            let rates = [own[k] / seconds, other[k] / time];
            println!(
                "{name:>8} {:>12.4} {:>12.4} {:>12.1} {:>12.2} {:>8.1}  {:.3} {:.3}",
                per_draw[0],
                per_draw[1],
                rates[0],
                rates[1],
                rates[0] / rates[1],
                mean(&ours[k]),
                mean(&theirs[k])
            );
        }
    }
}
