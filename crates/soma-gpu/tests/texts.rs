//! Models and statistics written as text, and built-in models that are generated in the same way: single
//! moves, proposals, whole chains. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use common::{
    bernoulli_text, beta, bivariate_text, categorical, emulated, gamma_text, groups_text,
    histogram, logistic_text, normal_text, poisson_text, program, shares, text, text_at,
};
use soma::calibration::Plan;
use soma::chain::{MovesChoice, Problem, Settings};
use soma::kernel::{KernelChoice, Subset};
use soma::rng::stream;
use soma_gpu::frozen::{Among, frozen};
use soma_gpu::{Chains, Cuda, Fit, Options, Program, rank};

/// From records of the CPU at this theta, places against their probabilities, and proposals against the CPU's.
fn check(problem: &Problem, theta: &[f64], kernel: KernelChoice, lanes: usize) {
    const MOVES: usize = 12_000;
    let n = problem.release().n();
    let among = match kernel {
        KernelChoice::Soma => Among::First(n),
        KernelChoice::SomaBlocks { size } => Among::First(size.unwrap_or(10)),
        KernelChoice::RanImwg => Among::Random(1),
        _ => Among::First(1),
    };
    let mut options = Options::new(kernel, MovesChoice::Centred);
    (options.is_frozen, options.lanes) = (true, Some(lanes));
    let program = Program::new(problem, options).unwrap();
    let Some(mut device) = emulated(&program) else { return };
    let model = problem.model();
    let mut rng = stream(7, 0);
    let mut records = vec![0.0; n * program.dim];
    model.propose(theta, &mut records, &mut rng).unwrap();
    let found = frozen(&mut device, &program, problem, theta, &records, among, MOVES, 3).unwrap();
    let worst = found.worst();
    let (taken, expected) = (found.taken.iter().sum::<u64>(), found.expected.iter().sum::<f64>());
    assert!(worst < 4.5, "{kernel:?} on {lanes} lanes: {worst}, {taken} against {expected}");
    // The means of bounded functions of each coordinate: itself clamped, its square, and two indicators.
    const DRAWS: usize = 40_000;
    let mut cpu = vec![0.0; DRAWS * program.dim];
    model.propose(theta, &mut cpu, &mut rng).unwrap();
    for d in 0..program.dim {
        let ours: Vec<f64> = found.proposals.iter().map(|record| record[d]).collect();
        let theirs: Vec<f64> = cpu.iter().skip(d).step_by(program.dim).copied().collect();
        let mut sorted = theirs.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| sorted[(share * (DRAWS - 1) as f64) as usize];
        let (low, high) = (at(0.02), at(0.98));
        let functions: [&dyn Fn(f64) -> f64; 5] = [
            &|x| x.clamp(low, high),
            &|x| x.clamp(low, high).powi(2),
            &|x| f64::from(u8::from(x <= at(0.25))),
            &|x| f64::from(u8::from(x <= at(0.75))),
            &|x| f64::from(u8::from(x > high)),
        ];
        for (f, function) in functions.iter().enumerate() {
            let z = difference(&ours, &theirs, function);
            assert!(z.abs() < 4.5, "coordinate {d}, function {f}: {z}");
        }
    }
}

/// The difference of the means of a function of two samples, in standard errors.
fn difference(a: &[f64], b: &[f64], f: &dyn Fn(f64) -> f64) -> f64 {
    let moments = |all: &[f64]| {
        let (n, sum) = (all.len() as f64, all.iter().map(|x| f(*x)).sum::<f64>());
        let mean = sum / n;
        (mean, all.iter().map(|x| (f(*x) - mean).powi(2)).sum::<f64>() / (n * n))
    };
    let ((a, error_a), (b, error_b)) = (moments(a), moments(b));
    (a - b) / (error_a + error_b + 1e-12).sqrt()
}

#[test]
fn moves_of_texts_have_their_probabilities() {
    let soma = KernelChoice::Soma;
    check(&normal_text(9), &[0.3, 0.9], soma, 1);
    check(&normal_text(9), &[0.3, 0.9], soma, 4);
    check(&bernoulli_text(8), &[0.35], soma, 1);
    check(&poisson_text(10), &[2.5], soma, 2);
    check(&poisson_text(10), &[2.5], KernelChoice::SomaBlocks { size: Some(4) }, 1);
    check(&logistic_text(8), &[0.2, 0.8, 1.1], KernelChoice::SysImwg, 1);
    check(&gamma_text(7), &[1.8, 0.9], soma, 2);
    check(&gamma_text(7), &[0.4, 0.9], KernelChoice::RanImwg, 1);
}

#[test]
fn moves_of_beta_and_categories_have_their_probabilities() {
    check(&categorical(9), &[0.5, 0.3, 0.2], KernelChoice::Soma, 2);
    check(&categorical(9), &[0.5, 0.3, 0.2], KernelChoice::SysImwg, 1);
    check(&beta(6), &[1.5, 2.5], KernelChoice::Soma, 1);
    check(&beta(6), &[0.4, 0.7], KernelChoice::SysImwg, 1);
}

#[test]
fn moves_of_shares_and_uniform_records_have_their_probabilities() {
    check(&shares(6), &[2.0, 0.4, 1.0], KernelChoice::Soma, 2);
    check(&shares(6), &[0.1, 0.4, 7.0], KernelChoice::SysImwg, 1);
    check(&histogram(8, "[\"mean\"]"), &[0.0], KernelChoice::Soma, 1);
    check(&histogram(8, "[\"mean\"]"), &[0.0], KernelChoice::RanImwg, 1);
}

/// Every kind of random number that a record may be made of.
#[test]
fn proposals_are_those_of_the_cpu() {
    let one = |record: &str, statistic: &str, theta: &[f64]| {
        let parameters = "a ~ gamma(2, 1)\nb ~ gamma(2, 1)";
        let problem = text(4, &format!("[\"{statistic}\"]"), "[1.0]", parameters, record);
        check(&problem, theta, KernelChoice::Soma, 1);
    };
    let clamped = "clamp(x, 0, 50)";
    one("x ~ poisson(30 * a)", clamped, &[1.0, 1.0]);
    one("x ~ poisson(a)", clamped, &[4.0, 1.0]);
    one("x ~ binomial(40, logistic(a - b))", clamped, &[1.0, 2.0]);
    one("x ~ binomial(40, logistic(a - b))", clamped, &[3.0, 1.0]);
    one("x ~ binomial(10, logistic(a - b))", clamped, &[1.0, 3.0]);
    one("x ~ negative_binomial(a, b)", clamped, &[5.0, 1.5]);
    one("x ~ beta(a, b)", clamped, &[0.6, 3.0]);
    one("x ~ student_t(3 + a, 5, b)", clamped, &[1.0, 2.0]);
    one("x ~ exponential(a)", clamped, &[0.5, 1.0]);
    one("x ~ log_normal(a, b)", clamped, &[0.5, 0.8]);
    one("x ~ weibull(a, b)", clamped, &[1.5, 2.0]);
    one("x ~ inverse_gamma(2 + a, b)", clamped, &[1.5, 2.0]);
    one("x ~ laplace(a, b)", clamped, &[1.5, 2.0]);
    one("x ~ logistic(a, b)", clamped, &[1.5, 2.0]);
    one("x ~ categorical([a, b, 1])", "x == 2", &[1.5, 2.0]);
    one("g ~ bernoulli(0.3)\nx ~ normal(if g == 1 then a else -b, 1)", clamped, &[2.0, 2.0]);
}

/// Where the release says nothing, the prior is invariant: chains that start from it are in it after some
/// iterations. `theta` given the records is what can spoil it.
fn keeps_its_prior(name: &str, problem: &Problem, kernel: KernelChoice, lanes: usize) {
    keeps_its_prior_with(MovesChoice::Centred, name, problem, kernel, lanes);
}

/// The records of chains against those of prior thetas: the first of them, and their sum, by coordinate.
fn keeps_its_records(
    name: &str,
    problem: &Problem,
    reference: &[f64],
    states: &[(Vec<f64>, Vec<f64>)],
) {
    let (model, n) = (problem.model(), problem.release().n());
    let (p, dim) = (model.parameters().len(), model.record_dim());
    let mut rng = stream(4, 0);
    let mut all = vec![0.0; reference.len() / p * n * dim];
    for (theta, records) in reference.chunks_exact(p).zip(all.chunks_exact_mut(n * dim)) {
        model.propose(theta, records, &mut rng).unwrap();
    }
    for d in 0..dim {
        let first = |records: &[f64]| records[d];
        let sum = |records: &[f64]| records.iter().skip(d).step_by(dim).sum::<f64>();
        for (f, function) in [&first as &dyn Fn(&[f64]) -> f64, &sum].iter().enumerate() {
            let ours: Vec<f64> = states.iter().map(|(_, records)| function(&records[..])).collect();
            let theirs: Vec<f64> = all.chunks_exact(n * dim).map(function).collect();
            let mut sorted = theirs.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            for share in [0.03, 0.2, 0.5, 0.8, 0.97] {
                let at = sorted[(share * sorted.len() as f64) as usize];
                let z = difference(&ours, &theirs, &|x| f64::from(u8::from(x <= at)));
                assert!(z.abs() < 4.5, "{name}, coordinate {d}, function {f}, {share}: {z}");
            }
        }
    }
}

fn keeps_its_prior_with(
    moves: MovesChoice,
    name: &str,
    problem: &Problem,
    kernel: KernelChoice,
    lanes: usize,
) {
    const CHAINS: usize = 6_000;
    let mut options = Options::new(kernel, moves);
    options.lanes = Some(lanes);
    let program = Program::new(problem, options).unwrap();
    let Some(mut device) = emulated(&program) else { return };
    let p = program.parameters;
    let mut rng = stream(3, 0);
    let mut prior = |count: usize| {
        let mut all = vec![0.0; count * p];
        let model = problem.model();
        all.chunks_exact_mut(p).for_each(|theta| model.sample_prior(theta, &mut rng).unwrap());
        all
    };
    let (start, reference) = (prior(CHAINS), prior(60_000));
    let published = program.published(problem);
    let mut chains = Chains::start(&mut device, &program, 9, 0, 8, 4, &published, &start).unwrap();
    let drawn = chains.advance(&mut device, 12, true).unwrap();
    // Centred updates leave the records to the sweep.
    if moves == MovesChoice::Interwoven {
        let states = chains.states(&mut device, &program).unwrap();
        keeps_its_records(name, problem, &reference, &states);
    }
    for k in 0..p {
        let ours: Vec<f64> = (0..CHAINS).map(|chain| drawn.get(0, k, chain)).collect();
        let theirs: Vec<f64> = reference.iter().skip(k).step_by(p).copied().collect();
        let mut sorted = theirs.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        for share in [0.03, 0.2, 0.5, 0.8, 0.97] {
            let at = sorted[(share * sorted.len() as f64) as usize];
            let z = difference(&ours, &theirs, &|x| f64::from(u8::from(x <= at)));
            assert!(z.abs() < 4.5, "{name}, parameter {k} below its quantile {share}: {z}");
        }
    }
}

#[test]
fn the_prior_is_kept_where_the_release_says_nothing() {
    let blind = |statistic: &str, parameters: &str, record: &str| {
        text_at(1e-6, 4, &format!("[\"{statistic}\"]"), "[0.0]", parameters, record)
    };
    let (soma, sys) = (KernelChoice::Soma, KernelChoice::SysImwg);
    let clamped = "clamp(x, -3, 3)";
    let normal = blind(clamped, "m ~ normal(0, 1)\ns ~ gamma(3, 3)", "x ~ normal(m, s)");
    keeps_its_prior("normal", &normal, soma, 2);
    let poisson = blind(clamped, "m ~ gamma(2, 1)", "x ~ poisson(m)");
    keeps_its_prior("poisson", &poisson, sys, 1);
    let binomial = blind(clamped, "p ~ beta(1, 2)", "x ~ binomial(5, p)");
    keeps_its_prior("binomial", &binomial, sys, 1);
    // Sizes on both sides of where the series begins, with the derivatives by the size.
    let sizes = "m ~ gamma(2, 1)\ns ~ gamma(2, 0.1)";
    let overdispersed = blind(clamped, sizes, "x ~ negative_binomial(m, s)");
    keeps_its_prior("negative binomial", &overdispersed, sys, 1);
    let gamma = blind(clamped, "a ~ gamma(4, 2)\nr ~ gamma(3, 2)", "x ~ gamma(a, r)");
    keeps_its_prior("gamma", &gamma, soma, 4);
    let student = blind(clamped, "m ~ normal(0, 1)\nf ~ gamma(4, 1)", "x ~ student_t(1 + f, m, 1)");
    keeps_its_prior("student", &student, sys, 1);
    let shares = blind("x == 2", "p[1..3] ~ dirichlet([1, 2, 3])", "x ~ categorical(p)");
    keeps_its_prior("shares", &shares, sys, 1);
    let skew = blind(
        clamped,
        "m ~ normal(0, 1)\ns ~ gamma(4, 4)",
        "x ~ log_normal(m, s)\ny ~ normal(m * x, s)",
    );
    keeps_its_prior("skew", &skew, sys, 1);
    let blind = |kind: &str, model: &str| {
        let noise = "mechanism = { kind = \"laplace\", scale = 1e7 }";
        common::problem(&format!("n = 4\nstatistic = \"sum\"\n{kind}\n{noise}"), model)
    };
    let beta = blind(
        "values = [1.0]\nquery = { kind = \"mean\", clamp = [0.0, 1.0] }",
        "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 1.0, rate = 1.0 }",
    );
    keeps_its_prior("beta", &beta, soma, 1);
    let time = blind(
        "values = [-1.0, -1.0, -2.0]\nquery = { kind = \"log-sum\", clamp = [0.01, 1.0] }",
        "kind = \"dirichlet\"\nprior = { kind = \"gamma\", shape = 1.5, rate = 1.0 }",
    );
    keeps_its_prior("time", &time, soma, 2);
    let categorical = blind(
        "values = [1.0, 2.0, 1.0]\nquery = { kind = \"categories\", labels = [\"a\", \"b\", \"c\"] }",
        "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = [0.3, 1.0, 2.0] }",
    );
    keeps_its_prior("categorical", &categorical, soma, 1);
}

/// The same with non-centred updates, which carry records of every kind to another theta: integers by uniforms that
/// are held fixed, in one iteration, for all updates.
#[test]
fn the_prior_is_kept_when_records_are_carried() {
    let blind = |parameters: &str, record: &str| {
        text_at(1e-6, 4, "[\"clamp(k, 0, 3)\"]", "[0.0]", parameters, record)
    };
    let parameters = "p ~ beta(2, 2)\nm ~ gamma(4, 3)";
    let first = blind(
        parameters,
        "g ~ bernoulli(p)\nk ~ poisson(m * (1 + g))\nb ~ binomial(6, p)\nx ~ exponential(m)\n\
         y ~ laplace(p + x, m)",
    );
    let second = blind(
        parameters,
        "k ~ negative_binomial(m, 2)\nc ~ categorical([p, 1 - p, m])\nh ~ half_normal(m)\n\
         z ~ logistic(c, m)\nw ~ weibull(2, m)",
    );
    let shapes = blind(
        parameters,
        "x ~ gamma(1 + p, m)\ny ~ inverse_gamma(2 + m, p)\nz ~ beta(1 + m, 0.5 + p)\n\
         t ~ student_t(2 + m, p, m)\nk ~ poisson(m)",
    );
    for (problem, kernel, lanes) in [
        (&first, KernelChoice::SysImwg, 1),
        (&first, KernelChoice::RanImwg, 1),
        (&second, KernelChoice::Soma, 2),
        (&shapes, KernelChoice::SysImwg, 1),
        (&shapes, KernelChoice::Soma, 2),
    ] {
        keeps_its_prior_with(MovesChoice::Interwoven, "carried", problem, kernel, lanes);
    }
}

/// Where the release says nothing, theta and the records stay what the prior and the model make them: the scores of the
/// records at the theta of the end are standard normal. The steps that are learned are long, so that records which are
/// carried to another place have other scores.
fn keeps_its_scores(name: &str, problem: &Problem, kernel: KernelChoice, lanes: usize) {
    const CHAINS: usize = 2_000;
    let mut options = Options::new(kernel, MovesChoice::Interwoven);
    options.lanes = Some(lanes);
    let program = Program::new(problem, options).unwrap();
    let Some(mut device) = emulated(&program) else { return };
    let (p, model) = (program.parameters, problem.model());
    let mut rng = stream(3, 0);
    let mut start = vec![0.0; CHAINS * p];
    start.chunks_exact_mut(p).for_each(|theta| model.sample_prior(theta, &mut rng).unwrap());
    let published = program.published(problem);
    let mut chains = Chains::start(&mut device, &program, 9, 0, 40, 4, &published, &start).unwrap();
    let drawn = chains.advance(&mut device, 44, true).unwrap();
    let (_, accepted) = chains.acceptance(&mut device).unwrap();
    let transport = model.transport().unwrap();
    let (n, d) = (problem.release().n(), transport.noise_dim());
    let states = chains.states(&mut device, &program).unwrap();
    let mut scores = vec![Vec::new(); d];
    for (chain, (_, records)) in states.iter().enumerate() {
        let theta: Vec<f64> = (0..p).map(|k| drawn.get(0, k, chain)).collect();
        let mut noise = vec![0.0; n * d];
        transport.inverse(&theta, records, &mut noise).unwrap();
        noise.iter().enumerate().for_each(|(at, e)| scores[at % d].push(*e));
    }
    for (k, scores) in scores.iter().enumerate() {
        for quantile in [-1.88, -0.84, 0.0, 0.84, 1.88] {
            let share = soma_language::special::normal_cdf(quantile);
            let found = scores.iter().filter(|e| **e <= quantile).count() as f64;
            let count = scores.len() as f64;
            let z = (found - count * share) / (count * share * (1.0 - share)).sqrt();
            assert!(z.abs() < 4.5, "{name}, {kernel:?}, score {k} below {quantile}: {z}");
        }
    }
    assert!(accepted > 0.15, "{name}: {accepted} of the updates are accepted");
}

#[test]
fn the_scores_of_records_are_kept() {
    let texts = text_at(
        1e-6,
        4,
        "[\"clamp(x, 0, 3)\"]",
        "[0.0]",
        "p ~ beta(2, 2)\nm ~ gamma(4, 3)",
        "x ~ gamma(1 + p, m)\ny ~ inverse_gamma(2 + m, p)\nz ~ beta(1 + m, 0.5 + p)\n\
         t ~ student_t(2 + m, p, m)",
    );
    let blind = |release: &str, model: &str| {
        let noise = "mechanism = { kind = \"laplace\", scale = 1e7 }";
        common::problem(&format!("n = 4\nstatistic = \"sum\"\n{release}\n{noise}"), model)
    };
    let beta = blind(
        "values = [1.0]\nquery = { kind = \"mean\", clamp = [0.0, 1.0] }",
        "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }",
    );
    let time = blind(
        "values = [-1.0, -1.0, -2.0]\nquery = { kind = \"log-sum\", clamp = [0.01, 1.0] }",
        "kind = \"dirichlet\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }",
    );
    for (name, problem, kernel, lanes) in [
        ("texts", &texts, KernelChoice::SysImwg, 1),
        ("beta", &beta, KernelChoice::SysImwg, 1),
        ("beta", &beta, KernelChoice::Soma, 2),
        ("time", &time, KernelChoice::RanImwg, 1),
        ("time", &time, KernelChoice::Soma, 2),
    ] {
        keeps_its_scores(name, problem, kernel, lanes);
    }
}

fn p_value(
    problem: &Problem,
    kernel: KernelChoice,
    thin: u64,
    moves: MovesChoice,
    lanes: Option<usize>,
) -> Option<f64> {
    let mut options = Options::new(kernel, moves);
    options.lanes = lanes;
    let program = Program::new(problem, options).unwrap();
    let mut device = emulated(&program)?;
    let plan = Plan { kernel, moves, replications: 400, warmup: 100, draws: 7, thin, seed: 11 };
    let ranked = rank(&mut device, &program, problem, &plan, NonZeroUsize::MIN).unwrap();
    let found = ranked.calibration(&plan);
    eprintln!(
        "{}: {:?}",
        problem.model().kind(),
        found.quantities.iter().map(|q| (&q.name, q.uniformity.p_value())).collect::<Vec<_>>()
    );
    Some(found.p_value())
}

#[test]
fn ranks_are_uniform() {
    let (soma, sys) = (KernelChoice::Soma, KernelChoice::SysImwg);
    let (auto, both) = (MovesChoice::Auto, MovesChoice::Interwoven);
    for (problem, kernel, thin, moves, lanes) in [
        (normal_text(5), soma, 8, MovesChoice::Centred, Some(2)),
        (bivariate_text(4), sys, 8, auto, None),
        (logistic_text(5), sys, 10, auto, None),
        (groups_text(6), sys, 10, auto, None),
        (beta(4), sys, 15, auto, None),
        (beta(4), sys, 8, both, None),
        (shares(4), sys, 15, auto, None),
        (shares(4), soma, 8, both, Some(2)),
        (gamma_text(5), sys, 8, both, None),
    ] {
        let Some(p) = p_value(&problem, kernel, thin, moves, lanes) else { return };
        assert!(p > 1e-3, "{} with {kernel:?}: {p}", problem.model().kind());
    }
}

/// The posterior of the CPU's chains, with the CPU's own kernel and theta updates. With more than 64 records
/// theta is updated along one coordinate only, beside the Newton steps.
#[test]
fn posteriors_are_those_of_the_cpu() {
    for (problem, kernel) in [
        (normal_text(6), KernelChoice::Soma),
        (bivariate_text(7), KernelChoice::SysImwg),
        (poisson_text(70), KernelChoice::SysImwg),
        (beta(6), KernelChoice::Soma),
        (shares(6), KernelChoice::Soma),
        (categorical(9), KernelChoice::SomaBlocks { size: Some(4) }),
    ] {
        let moves = MovesChoice::Auto;
        let settings =
            Settings { kernel, moves, chains: 64, warmup: 200, draws: 150, thin: 1, seed: 2 };
        let program = program(&problem, kernel, moves);
        let Some(mut device) = emulated(&program) else { return };
        let fit = Fit { problem: &problem, program: &program, settings: &settings };
        let fitted = fit.run(&mut device, &|| false).unwrap();
        let collected = soma::chain::Collected::new(8);
        let cpu = Settings { chains: 8, draws: 4_000, ..settings };
        soma::chain::run(&problem, &cpu, NonZeroUsize::MIN, &collected).unwrap();
        let draws = collected.into_draws();
        for (k, row) in fitted.rows.iter().enumerate() {
            let mean_of = |chain: &Vec<soma::chain::Draw>| {
                chain.iter().map(|draw| draw.values[k]).sum::<f64>() / chain.len() as f64
            };
            let means: Vec<f64> = draws.iter().map(mean_of).collect();
            let mean = means.iter().sum::<f64>() / 8.0;
            let error2 = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / 56.0;
            let z = (row.mean - mean) / (row.mcse * row.mcse + error2).sqrt();
            // t with 7 degrees of freedom and more: 6 is beyond 1 in 1,000.
            assert!(z.abs() < 6.0, "{}: {} against {mean}, z = {z}", row.name, row.mean);
            assert!(row.nested_rhat < 1.2 && row.ess > 80.0, "{row:?}");
        }
    }
}

/// A Poisson mean that overflows: the proposal is not a number, which the clamp would hide.
#[test]
fn proposals_that_are_no_numbers_are_not_accepted() {
    let problem = text(
        6,
        "[\"clamp(k, 0, 9)\"]",
        "[0.5]",
        "a ~ normal(0, 1)\nb ~ normal(0, 1)",
        "x ~ normal(0, 1)\nk ~ poisson(exp(a + b * x))",
    );
    for kernel in [KernelChoice::Soma, KernelChoice::SysImwg] {
        let mut options = Options::new(kernel, MovesChoice::Centred);
        options.is_frozen = true;
        let program = Program::new(&problem, options).unwrap();
        let Some(mut device) = emulated(&program) else { return };
        let published = program.published(&problem);
        let theta = [1.0, 200.0].repeat(1_000);
        let mut chains =
            Chains::start(&mut device, &program, 5, 0, 0, 1, &published, &theta).unwrap();
        chains.set_records(&mut device, &program, &[0.1, 2.0].repeat(6)).unwrap();
        chains.advance(&mut device, 1, false).unwrap();
        let (places, proposals) = chains.frozen(&mut device, &program).unwrap();
        let is_lost = |record: &Vec<f64>| record.iter().any(|x| !x.is_finite());
        let lost = proposals.iter().filter(|record| is_lost(record)).count();
        assert!((150..500).contains(&lost), "{lost} proposals are no numbers");
        let taken = places.iter().zip(&proposals).filter(|(place, _)| **place >= 0);
        let (lost, sound): (Vec<_>, Vec<_>) = taken.partition(|(_, record)| is_lost(record));
        assert!(
            lost.is_empty() && sound.len() > 100,
            "{kernel:?}: {}, {}",
            lost.len(),
            sound.len()
        );
    }
}

/// Prior draws of p that are rounded to 0 or 1, whose logits are infinite.
#[test]
fn chains_start_inside_of_the_range_of_theta() {
    let problem = text(9, "[\"y\"]", "[0.3]", "p ~ beta(0.01, 0.01)", "y ~ bernoulli(p)");
    let program = program(&problem, KernelChoice::SysImwg, MovesChoice::Auto);
    let Some(mut device) = emulated(&program) else { return };
    let theta = soma_gpu::starts(&problem, 5, 0, 640).unwrap();
    assert!(theta.iter().all(|&p| 0.0 < p && p < 1.0));
    let published = program.published(&problem);
    let mut chains = Chains::start(&mut device, &program, 5, 0, 0, 1, &published, &theta).unwrap();
    chains.advance(&mut device, 20, true).unwrap();
}

/// Chains at a standard deviation far below what the release says: proposals are all alike there, a centred step is as
/// short as the standard deviation, and the release hardly depends on it.
#[test]
fn chains_find_back_from_a_narrow_place() {
    let problem = text(
        100,
        "[\"clamp(x, -3, 3)\", \"clamp(x, -3, 3) ^ 2\"]",
        "[0.2, 1.0]",
        "m ~ normal(0, 1)\ns ~ half_normal(2)",
        "x ~ normal(m, s)",
    );
    let program = program(&problem, KernelChoice::SysImwg, MovesChoice::Auto);
    let Some(mut device) = emulated(&program) else { return };
    let published = program.published(&problem);
    let theta = [0.2, 1e-3].repeat(64);
    let mut chains =
        Chains::start(&mut device, &program, 5, 0, 200, 1, &published, &theta).unwrap();
    while chains.iteration() < 200 {
        chains.advance(&mut device, 200, false).unwrap();
    }
    let drawn = chains.advance(&mut device, 201, true).unwrap();
    let back = (0..64).filter(|&chain| drawn.get(0, 1, chain) > 0.3).count();
    assert!(back >= 60, "{back} of 64 chains are back");
}

/// A prior that is much wider than the clamps: most of it is where all records are clamped.
#[test]
fn chains_start_near_the_release() {
    let problem = text(
        50,
        "[\"clamp(x, -3, 3)\"]",
        "[0.4]",
        "m ~ normal(0, 40)\ns ~ gamma(3, 3)",
        "x ~ normal(m, s)",
    );
    let theta = soma_gpu::starts(&problem, 5, 0, 200 * soma_gpu::SUPERCHAIN).unwrap();
    let near = theta.iter().step_by(2 * soma_gpu::SUPERCHAIN).filter(|m| m.abs() < 4.0).count();
    // Of 64 draws none is near with a probability of 0.01.
    assert!(near >= 185, "{near} of 200");
}

/// A chain's draws do not depend on the chains beside it, whose slice moves may take longer.
#[test]
fn a_chain_depends_on_its_number_and_nothing_else() {
    let problem = gamma_text(6);
    let program = program(&problem, KernelChoice::Soma, MovesChoice::Auto);
    let published = program.published(&problem);
    let draws = |first: u64, count: usize, chain: usize| {
        let mut device = emulated(&program)?;
        let theta = soma_gpu::starts(&problem, 5, first, count).unwrap();
        let mut chains =
            Chains::start(&mut device, &program, 5, first, 0, 1, &published, &theta).unwrap();
        Some(chains.advance(&mut device, 30, true).unwrap().column(0, chain))
    };
    let Some(alone) = draws(17, 1, 0) else { return };
    assert_eq!(Some(&alone), draws(17, 5, 0).as_ref());
    assert_eq!(Some(&alone), draws(14, 9, 3).as_ref());
}

/// What the compiler of CUDA says of the text. `pip install nvidia-cuda-nvrtc-cu12`, and its lib folder on
/// `LD_LIBRARY_PATH`.
#[test]
fn texts_are_cuda() {
    for (problem, kernel) in [
        (normal_text(9), KernelChoice::Soma),
        (poisson_text(100), KernelChoice::Soma),
        (logistic_text(100), KernelChoice::SysImwg),
        (gamma_text(50), KernelChoice::SomaBlocks { size: Some(10) }),
        (bivariate_text(30), KernelChoice::Soma),
        (categorical(30), KernelChoice::Soma),
        (beta(30), KernelChoice::RanImwg),
        (shares(30), KernelChoice::SysImwg),
        (histogram(30, "[\"mean\", 0.5]"), KernelChoice::Soma),
        (common::normal(30), KernelChoice::SomaSubset { size: 6, subset: Subset::Random }),
        (common::normal(30), KernelChoice::Soma),
        (common::exponential(30), KernelChoice::SysImwg),
    ] {
        for moves in [MovesChoice::Auto, MovesChoice::Interwoven] {
            let Ok(program) = Program::new(&problem, Options::new(kernel, moves)) else { continue };
            match Cuda::try_compile(&program) {
                None => return eprintln!("skipped: there is no NVRTC (libnvrtc.so)"),
                Some(compiled) => compiled.unwrap_or_else(|error| panic!("{kernel:?}: {error}")),
            }
        }
    }
}
