//! Whole chains: streams, posteriors and calibration. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use common::{emulated, exponential, normal, program, regression};
use soma::calibration::Plan;
use soma::chain::{MovesChoice, Problem, Settings};
use soma::kernel::{KernelChoice, Subset};
use soma_gpu::{Chains, Fit, Options, Program, rank, starts};

/// The published vectors of Philox 4x32-10 (Random123's kat_vectors).
#[test]
fn philox_has_its_known_answers() {
    let program = program(&normal(3), KernelChoice::SysImwg, MovesChoice::Centred);
    let Some(device) = emulated(&program) else { return };
    let all = u32::MAX;
    let known = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([all; 4], [all; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, words) in known {
        assert_eq!(device.philox(counter, key).unwrap(), words);
    }
}

/// Draws `[draw][value]` of chain `chain` in a run of `count` chains from number `first` on.
fn draws(problem: &Problem, first: u64, count: usize, chain: usize) -> Option<Vec<f64>> {
    let options = Options::new(KernelChoice::Soma, MovesChoice::Interwoven);
    draws_with(problem, options, first, count, chain)
}

fn draws_with(
    problem: &Problem,
    options: Options,
    first: u64,
    count: usize,
    chain: usize,
) -> Option<Vec<f64>> {
    let program = Program::new(problem, options).unwrap();
    let mut device = emulated(&program)?;
    let published = program.published(problem);
    let theta = starts(problem, 5, first, count).unwrap();
    let mut chains =
        Chains::start(&mut device, &program, 5, first, 60, 7, &published, &theta).unwrap();
    let mut all = Vec::new();
    while chains.iteration() < 200 {
        let some = chains.advance(&mut device, 200, true).unwrap();
        all.extend(
            (0..some.draws())
                .flat_map(|d| (0..some.width).map(move |k| (d, k)))
                .map(|(d, k)| some.get(d, k, chain)),
        );
    }
    assert_eq!(all.len(), 20 * (program.parameters + 1));
    Some(all)
}

#[test]
fn a_chain_depends_on_its_number_and_nothing_else() {
    let problem = regression(9, "{ kind = \"laplace\", epsilon = 3.0 }");
    let Some(alone) = draws(&problem, 17, 1, 0) else { return };
    assert_eq!(Some(&alone), draws(&problem, 17, 5, 0).as_ref());
    assert_eq!(Some(&alone), draws(&problem, 14, 40, 3).as_ref());
    assert_ne!(Some(&alone), draws(&problem, 18, 1, 0).as_ref());
}

/// Non-centred updates leave the records as they are, for the next sweep to carry; the end of a launch carries
/// them all. So launches of one iteration must draw what one launch of many draws.
#[test]
fn a_launch_may_end_anywhere() {
    let sharp = regression(9, "{ kind = \"laplace\", epsilon = 60.0 }");
    let groups = common::groups_text(6);
    for (problem, kernel) in [
        (&sharp, KernelChoice::Soma),
        (&sharp, KernelChoice::SomaBlocks { size: Some(4) }),
        (&sharp, KernelChoice::SomaSubset { size: 4, subset: Subset::Cyclic }),
        (&sharp, KernelChoice::SomaSubset { size: 4, subset: Subset::Random }),
        (&sharp, KernelChoice::SysImwg),
        (&sharp, KernelChoice::RanImwg),
        (&groups, KernelChoice::SysImwg),
        (&groups, KernelChoice::SomaBlocks { size: Some(4) }),
    ] {
        let options = Options::new(kernel, MovesChoice::Interwoven);
        let program = Program::new(problem, options).unwrap();
        let published = program.published(problem);
        let theta = starts(problem, 5, 0, 8).unwrap();
        let run = |step: u64| {
            let mut device = emulated(&program)?;
            let mut chains =
                Chains::start(&mut device, &program, 5, 0, 8, 1, &published, &theta).unwrap();
            let mut all = Vec::new();
            while chains.iteration() < 40 {
                let last = chains.iteration() + step;
                all.extend(chains.advance(&mut device, last.min(40), true).unwrap().values);
            }
            Some(all)
        };
        let (Some(one), Some(many)) = (run(40), run(1)) else { return };
        assert_eq!(one.len(), 32 * 8 * (program.parameters + 1));
        // Sums in another order round in another way, which may turn a rare decision.
        let same = |(a, b): &(&f32, &f32)| (*a - *b).abs() <= 1e-3 * (1.0 + a.abs());
        let share = one.iter().zip(&many).filter(same).count() as f64 / one.len() as f64;
        assert!(share > 0.8, "{kernel:?}: {share}");
    }
}

/// A card with less shared memory has other threads, and records in another memory.
#[test]
fn a_chain_does_not_depend_on_the_card() {
    let problem = regression(9, "{ kind = \"laplace\", epsilon = 3.0 }");
    for kernel in [
        KernelChoice::Soma,
        KernelChoice::SomaBlocks { size: Some(4) },
        KernelChoice::SysImwg,
        KernelChoice::RanImwg,
    ] {
        for moves in [MovesChoice::Centred, MovesChoice::Interwoven] {
            let mut options = Options::new(kernel, moves);
            let Some(here) = draws_with(&problem, options, 3, 2, 1) else { return };
            options.most_shared = 8 << 10;
            assert_eq!(Some(here), draws_with(&problem, options, 3, 2, 1), "{kernel:?}, {moves:?}");
        }
    }
}

fn p_value(problem: &Problem, kernel: KernelChoice, moves: MovesChoice, thin: u64) -> Option<f64> {
    let program = program(problem, kernel, moves);
    let mut device = emulated(&program)?;
    let plan = Plan { kernel, moves, replications: 1_000, warmup: 200, draws: 7, thin, seed: 11 };
    let threads = NonZeroUsize::MIN;
    let ranked = rank(&mut device, &program, problem, &plan, threads).unwrap();
    let found = ranked.calibration(&plan);
    eprintln!(
        "{}: {:?}",
        problem.model().kind(),
        found.quantities.iter().map(|q| (&q.name, q.uniformity.p_value())).collect::<Vec<_>>()
    );
    Some(found.p_value())
}

/// A regression whose release counts records in cells of both variables: a change of theta with the records moves the
/// first cell, which does not look at the response alone.
fn counted_regression(n: usize) -> Problem {
    common::problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [1.0, 2.0, 1.0, 1.0]\n\
             query = {{ kind = \"histogram\", edges = [[-4.0, 0.9, 6.0], [-6.0, 0.0, 6.0]] }}\n\
             mechanism = {{ kind = \"laplace\", scale = 0.4 }}"
        ),
        "kind = \"regression\"\npredictors = { mean = [0.9] }\n\
         prior = { kind = \"normal-inverse-gamma\", mean = 0.0, precision = 0.5, shape = 10.0, rate = 10.0 }",
    )
}

#[test]
fn ranks_are_uniform() {
    let laplace = regression(6, "{ kind = \"laplace\", epsilon = 5.0 }");
    let (centred, both) = (MovesChoice::Centred, MovesChoice::Interwoven);
    for (problem, kernel, moves, thin) in [
        (&laplace, KernelChoice::Soma, centred, 20),
        (&laplace, KernelChoice::SysImwg, both, 10),
        (&normal(5), KernelChoice::SomaBlocks { size: Some(2) }, both, 10),
        (&normal(5), KernelChoice::RanImwg, both, 10),
        (&normal(5), KernelChoice::SomaSubset { size: 3, subset: Subset::Cyclic }, both, 10),
        (&normal(5), KernelChoice::SomaSubset { size: 3, subset: Subset::Random }, both, 10),
        (&exponential(6), KernelChoice::Soma, centred, 10),
        (&exponential(6), KernelChoice::SysImwg, both, 10),
        (&counted_regression(5), KernelChoice::SysImwg, both, 10),
    ] {
        let Some(p) = p_value(problem, kernel, moves, thin) else { return };
        assert!(p > 1e-3, "{} with {kernel:?}, {moves:?}: {p}", problem.model().kind());
    }
}

/// The posterior of the CPU's chains, with the CPU's own kernel and theta updates.
#[test]
fn posteriors_are_those_of_the_cpu() {
    let laplace = "{ kind = \"laplace\", epsilon = 6.0 }";
    let sharp = "{ kind = \"laplace\", epsilon = 60.0 }";
    for (problem, kernel) in [
        (regression(8, laplace), KernelChoice::Soma),
        (regression(8, sharp), KernelChoice::SysImwg),
        (regression(8, sharp), KernelChoice::SomaBlocks { size: Some(3) }),
        (regression(8, sharp), KernelChoice::SomaSubset { size: 3, subset: Subset::Cyclic }),
        (normal(6), KernelChoice::Soma),
        (exponential(6), KernelChoice::Soma),
    ] {
        let settings = Settings {
            kernel,
            moves: MovesChoice::Interwoven,
            chains: 64,
            warmup: 400,
            draws: 400,
            thin: 1,
            seed: 2,
        };
        let program = program(&problem, settings.kernel, settings.moves);
        let Some(mut device) = emulated(&program) else { return };
        let fit = Fit { problem: &problem, program: &program, settings: &settings };
        let fitted = fit.run(&mut device, &|| false).unwrap();
        let collected = soma::chain::Collected::new(8);
        let cpu = Settings { chains: 8, draws: 4_000, moves: MovesChoice::Auto, ..settings };
        soma::chain::run(&problem, &cpu, NonZeroUsize::MIN, &collected).unwrap();
        let draws = collected.into_draws();
        for (k, row) in fitted.rows.iter().enumerate() {
            let means: Vec<f64> = draws
                .iter()
                .map(|chain| {
                    chain.iter().map(|draw| draw.values[k]).sum::<f64>() / chain.len() as f64
                })
                .collect();
            let mean = means.iter().sum::<f64>() / 8.0;
            let error2 = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / 56.0;
            let z = (row.mean - mean) / (row.mcse * row.mcse + error2).sqrt();
            // t with 7 degrees of freedom and more: 6 is beyond 1 in 1,000.
            assert!(z.abs() < 6.0, "{}: {} against {mean}, z = {z}", row.name, row.mean);
            assert!(row.nested_rhat < 1.2 && row.ess > 500.0, "{row:?}");
        }
    }
}

#[test]
fn what_a_gpu_cannot_do_is_said() {
    let told = |problem: &Problem, kernel| {
        Program::new(problem, Options::new(kernel, MovesChoice::Auto)).unwrap_err().to_string()
    };
    let subset = KernelChoice::SomaSubset { size: 200, subset: Subset::Random };
    assert!(told(&normal(500), subset).contains("cyclic"));
    assert!(told(&normal(5_000), KernelChoice::Soma).contains("up to 3328 records"));
    let median = common::problem(
        "n = 60\nvalues = [30.0]\nquery = { kind = \"quantile\", alpha = 0.5, candidates = [10.0, 30.0, 90.0] }\n\
         mechanism = { kind = \"permute-and-flip\", scale = 2.0 }",
        "kind = \"exponential\"\nprior = { kind = \"gamma\", shape = 3.0, rate = 2.0 }",
    );
    assert!(told(&median, KernelChoice::Soma).contains("release.query"));
    let interwoven = Options::new(KernelChoice::Soma, MovesChoice::Interwoven);
    let told = Program::new(&common::categorical(5), interwoven).unwrap_err().to_string();
    assert!(told.contains("sampler.moves") && told.contains("centred"), "{told}");
}
