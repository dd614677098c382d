//! Unknown n with imputed records: slots that hold a record or are empty. Single moves against their enumerated
//! probabilities, posteriors by enumeration, priors that are kept, calibration. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use common::{emulated, problem, program};
use soma::calibration::Plan;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::{KernelChoice, Subset};
use soma::rng::stream;
use soma_gpu::frozen::{Among, frozen};
use soma_gpu::{Chains, Cuda, Drawn, Options, Program, rank, starts};

/// Any number of records. More than 40 have a probability below 1e-5.
const FLAT: &str = "{ prior = \"flat\", slots = 40 }";

/// Two categories, published with noise.
const VOTES: &str = "statistic = \"sum\"\nvalues = [12, 3]\n\
    query = { kind = \"categories\", labels = [\"a\", \"b\"] }\n\
    mechanism = { kind = \"discrete-laplace\", scale = 2.0 }";

const DIRICHLET: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";

/// The same, and how many there are.
fn counted_votes() -> Problem {
    problem(
        &format!(
            "n = {FLAT}\n[[release.parts]]\n{VOTES}\n\
             [[release.parts]]\nstatistic = \"sum\"\nvalues = [18]\nquery = {{ kind = \"count\" }}\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = 1.0 }}"
        ),
        DIRICHLET,
    )
}

fn votes() -> Problem {
    problem(&format!("n = {FLAT}\n{VOTES}"), DIRICHLET)
}

/// A sum and a count, with `scale` times their noise; n has a prior.
fn sums(scale: f64, query: &str, values: &str, model: &str) -> Problem {
    problem(
        &format!(
            "n = {{ prior = \"uniform\", high = 10 }}\n[[release.parts]]\nstatistic = \"sum\"\nvalues = {values}\n\
             query = {query}\nmechanism = {{ kind = \"laplace\", scale = {scale:?} }}\n\
             [[release.parts]]\nstatistic = \"sum\"\nvalues = [5.0]\nquery = {{ kind = \"count\" }}\n\
             mechanism = {{ kind = \"gaussian\", scale = {scale:?} }}"
        ),
        model,
    )
}

fn exponential(scale: f64) -> Problem {
    let model = "kind = \"exponential\"\nprior = { kind = \"gamma\", shape = 3.0, rate = 2.0 }";
    sums(scale, "{ kind = \"mean\", clamp = [0.5, 4.0] }", "[6.0]", model)
}

fn regression(scale: f64) -> Problem {
    let model = "kind = \"regression\"\npredictors = { mean = [0.9] }\n\
        prior = { kind = \"normal-inverse-gamma\", mean = 0.0, precision = 0.5, shape = 10.0, rate = 10.0 }";
    let query = "{ kind = \"gram\", predictors = 1, clamp = [-6.0, 6.0] }";
    sums(scale, query, "[0.3, 0.1, 0.4, 0.9, 1.2]", model)
}

fn beta(scale: f64) -> Problem {
    let model = "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }";
    sums(scale, "{ kind = \"moments\", degree = 2, clamp = [0.0, 1.0] }", "[2.5, 1.4]", model)
}

fn text(scale: f64) -> Problem {
    let model = "parameters = \"\"\"\nm ~ normal(0, 1)\ns ~ gamma(3, 3)\n\"\"\"\n\
        record = \"\"\"\nx ~ normal(m, s)\nk ~ poisson(s)\n\"\"\"";
    problem(
        &format!(
            "n = {{ prior = \"uniform\", high = 10 }}\nstatistic = \"sum\"\nvalues = [1.0, 4.0]\n\
             statistics = [\"clamp(x, -3, 3)\", \"clamp(k, 0, 5)\"]\n\
             mechanism = {{ kind = \"laplace\", scale = {scale:?} }}"
        ),
        model,
    )
}

fn check(problem: &Problem, theta: &[f64], kernel: KernelChoice, lanes: usize, among: Among) {
    const MOVES: usize = 6_000;
    let mut options = Options::new(kernel, MovesChoice::Centred);
    (options.is_frozen, options.lanes) = (true, Some(lanes));
    let program = Program::new(problem, options).unwrap();
    let Some(mut device) = emulated(&program) else { return };
    let mut records = vec![0.0; program.records * program.dim];
    problem.model().propose(theta, &mut records, &mut stream(7, 0)).unwrap();
    let found = frozen(&mut device, &program, problem, theta, &records, among, MOVES, 3).unwrap();
    let worst = found.worst();
    let (taken, expected) = (found.taken.iter().sum::<u64>(), found.expected.iter().sum::<f64>());
    assert!(worst < 4.5, "{kernel:?} on {lanes} lanes: {worst}, {taken} against {expected}");
    // Of the proposals so many are records.
    let share = problem.release().slotted().unwrap().share();
    let held = found.proposals.iter().filter(|slot| slot[0] == 1.0).count() as f64;
    let gap = held - share * MOVES as f64;
    assert!(gap.abs() < 4.5 * (share * (1.0 - share) * MOVES as f64).sqrt(), "{held} records");
}

#[test]
fn moves_of_slots_have_their_probabilities() {
    let (soma, sys) = (KernelChoice::Soma, KernelChoice::SysImwg);
    let first = |problem: &Problem| Among::First(problem.release().n());
    check(&votes(), &[0.7, 0.3], soma, 2, first(&votes()));
    check(&votes(), &[0.7, 0.3], sys, 1, Among::First(1));
    check(&exponential(1.0), &[1.2], soma, 1, first(&exponential(1.0)));
    check(&exponential(1.0), &[1.2], KernelChoice::RanImwg, 1, Among::Random(1));
    let blocks = KernelChoice::SomaBlocks { size: Some(4) };
    check(&regression(1.0), &[0.2, 0.4, 1.1], blocks, 1, Among::First(4));
    check(&regression(1.0), &[0.2, 0.4, 1.1], soma, 4, first(&regression(1.0)));
    check(&text(1.0), &[0.2, 0.8], soma, 1, first(&text(1.0)));
    check(&beta(0.3), &[1.5, 2.5], soma, 1, first(&beta(0.3)));
    let pairs = KernelChoice::SomaSubset { size: 2, subset: Subset::Random };
    check(&exponential(1.0), &[1.2], pairs, 1, Among::Random(2));
}

/// The draws of many chains after `warmup` iterations, `draws` of them.
fn drawn(problem: &Problem, kernel: KernelChoice, warmup: u64, chains: usize) -> Option<Drawn> {
    let program = program(problem, kernel, MovesChoice::Auto);
    let mut device = emulated(&program)?;
    let published = program.published(problem);
    let theta = starts(problem, 5, 0, chains).unwrap();
    let mut run =
        Chains::start(&mut device, &program, 5, 0, warmup, 4, &published, &theta).unwrap();
    let last = warmup + 40;
    let mut all = Drawn::default();
    while run.iteration() < last {
        let some = run.advance(&mut device, last, true).unwrap();
        (all.chains, all.width) = (some.chains, some.width);
        all.values.extend(some.values);
    }
    Some(all)
}

/// The mean of a function of a value, within 4.5 standard errors of the truth.
fn assert_mean(drawn: &Drawn, k: usize, f: &dyn Fn(f64) -> f64, truth: f64, what: &str) {
    let of = |chain| drawn.column(k, chain).into_iter().map(f).sum::<f64>() / drawn.draws() as f64;
    let means: Vec<f64> = (0..drawn.chains).map(of).collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / count;
    let error = 4.5 * (variance / count).sqrt();
    assert!((mean - truth).abs() < error, "{what}: {mean} and not {truth} +- {error}");
}

/// The posteriors of the design's tables, by enumeration: mean and standard deviation of n and of a probability.
#[test]
fn votes_have_their_posterior() {
    for (problem, [n, n_sd, p, p_sd]) in [
        (votes(), [14.65882, 3.67940, 0.74876, 0.14821]),
        (counted_votes(), [17.49698, 1.28412, 0.72971, 0.13017]),
    ] {
        for kernel in
            [KernelChoice::SysImwg, KernelChoice::Soma, KernelChoice::SomaBlocks { size: Some(20) }]
        {
            let Some(drawn) = drawn(&problem, kernel, 100, 1_000) else { return };
            let what = format!("{kernel:?}");
            assert_mean(&drawn, 2, &|x| x, n, &format!("{what}, n"));
            let square = n_sd * n_sd;
            assert_mean(
                &drawn,
                2,
                &|x| (x - n) * (x - n),
                square,
                &format!("{what}, n's variance"),
            );
            assert_mean(&drawn, 0, &|x| x, p, &format!("{what}, p"));
            let square = p_sd * p_sd;
            assert_mean(
                &drawn,
                0,
                &|x| (x - p) * (x - p),
                square,
                &format!("{what}, p's variance"),
            );
        }
    }
}

/// Many more records are published than the prior of n allows: proposals are nearly always records, and few records
/// cost hundreds of bits less than many. The posterior, by enumeration: n has mean 13.16901 and standard deviation
/// 3.60540.
#[test]
fn few_records_in_many_slots_have_their_posterior() {
    let problem = problem(
        "n = { prior = \"poisson\", mean = 8 }\nstatistic = \"sum\"\nvalues = [60, 20]\n\
         query = { kind = \"categories\", labels = [\"a\", \"b\"] }\n\
         mechanism = { kind = \"discrete-laplace\", scale = 2.0 }",
        DIRICHLET,
    );
    let Some(drawn) = drawn(&problem, KernelChoice::Soma, 80, 150) else { return };
    assert_mean(&drawn, 2, &|x| x, 13.16901, "n");
    assert_mean(&drawn, 2, &|x| (x - 13.16901).powi(2), 3.60540 * 3.60540, "n's variance");
}

/// Where the release says nothing, chains that start from the prior stay in it, and n is uniform.
#[test]
fn the_priors_of_theta_and_n_are_kept() {
    const CHAINS: usize = 6_000;
    const SILENT: f64 = 1e7;
    let (soma, sys) = (KernelChoice::Soma, KernelChoice::SysImwg);
    let (centred, interwoven) = (MovesChoice::Centred, MovesChoice::Interwoven);
    for (name, problem, kernel, moves, lanes) in [
        ("exponential", exponential(SILENT), soma, centred, 1),
        ("exponential", exponential(SILENT), sys, interwoven, 1),
        ("regression", regression(SILENT), soma, interwoven, 2),
        ("beta", beta(SILENT), sys, interwoven, 1),
        ("text", text(SILENT), sys, centred, 1),
        ("text", text(SILENT), soma, interwoven, 2),
        ("text", text(SILENT), KernelChoice::RanImwg, interwoven, 1),
    ] {
        let mut options = Options::new(kernel, moves);
        options.lanes = Some(lanes);
        let program = Program::new(&problem, options).unwrap();
        let Some(mut device) = emulated(&program) else { return };
        let (p, model) = (program.parameters, problem.record_model());
        let mut rng = stream(3, 0);
        let mut prior = |count: usize| {
            let mut all = vec![0.0; count * p];
            all.chunks_exact_mut(p).for_each(|theta| model.sample_prior(theta, &mut rng).unwrap());
            all
        };
        let (start, reference) = (prior(CHAINS), prior(60_000));
        let published = program.published(&problem);
        let mut chains =
            Chains::start(&mut device, &program, 9, 0, 12, 4, &published, &start).unwrap();
        let drawn = chains.advance(&mut device, 16, true).unwrap();
        let share = |k: usize, below: f64| {
            let hits = (0..CHAINS).filter(|chain| drawn.get(0, k, *chain) <= below).count();
            hits as f64 / CHAINS as f64
        };
        let assert_share = |found: f64, truth: f64, what: &str| {
            let error = (truth * (1.0 - truth) / (0.9 * CHAINS as f64)).sqrt();
            assert!((found - truth).abs() < 4.5 * error, "{name}, {what}: {found} and not {truth}");
        };
        for k in 0..p {
            let mut sorted: Vec<f64> = reference.iter().skip(k).step_by(p).copied().collect();
            sorted.sort_unstable_by(f64::total_cmp);
            for at in [0.03, 0.2, 0.5, 0.8, 0.97] {
                let quantile = sorted[(at * sorted.len() as f64) as usize];
                assert_share(share(k, quantile), at, &format!("parameter {k} below {quantile}"));
            }
        }
        for n in 0..10 {
            let below = f64::from(n + 1) / 11.0;
            assert_share(share(p, f64::from(n)), below, &format!("{kernel:?}, n up to {n}"));
        }
    }
}

#[test]
fn ranks_of_slots_are_uniform() {
    for (problem, kernel) in
        [(exponential(1.5), KernelChoice::SysImwg), (text(1.0), KernelChoice::Soma)]
    {
        let moves = MovesChoice::Auto;
        let program = program(&problem, kernel, moves);
        let Some(mut device) = emulated(&program) else { return };
        let (replications, warmup, draws) = (400, 150, 7);
        let plan = Plan { kernel, moves, replications, warmup, draws, thin: 15, seed: 11 };
        let ranked = rank(&mut device, &program, &problem, &plan, NonZeroUsize::MIN).unwrap();
        let p = ranked.calibration(&plan).p_value();
        assert!(p > 1e-3, "{}: {p}", problem.model().kind());
    }
}

/// What the compiler of CUDA says of the text, where it is installed.
#[test]
fn texts_of_slots_are_cuda() {
    let blocks = KernelChoice::SomaBlocks { size: Some(4) };
    for (problem, kernel) in [
        (exponential(1.0), KernelChoice::SysImwg),
        (regression(1.0), KernelChoice::Soma),
        (beta(1.0), KernelChoice::RanImwg),
        (text(1.0), blocks),
        (votes(), blocks),
    ] {
        match Cuda::try_compile(&program(&problem, kernel, MovesChoice::Auto)) {
            None => return eprintln!("skipped: there is no NVRTC (libnvrtc.so)"),
            Some(compiled) => compiled.unwrap_or_else(|error| panic!("{kernel:?}: {error}")),
        }
    }
}

#[test]
fn what_slots_cannot_do_is_said() {
    let told = |problem: &Problem, options| Program::new(problem, options).unwrap_err().to_string();
    let mut pairs = Options::new(KernelChoice::SysImwg, MovesChoice::Auto);
    pairs.is_paired = true;
    assert!(told(&exponential(1.0), pairs).contains("release.n"));
    let many = problem(
        "n = \"unknown\"\nstatistic = \"sum\"\nvalues = [9000]\nquery = { kind = \"count\" }\n\
         mechanism = { kind = \"discrete-laplace\", scale = 2.0 }",
        "kind = \"exponential\"\nprior = { kind = \"gamma\", shape = 3.0, rate = 2.0 }",
    );
    let said = told(&many, Options::new(KernelChoice::SysImwg, MovesChoice::Auto));
    assert!(said.contains("up to 4095 slots"), "{said}");
}
