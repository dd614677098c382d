//! A grid of small problems with known exact answers: the verdict on each run compared with its
//! error.
//!
//! `cargo test --release -p soma-mcmc --test grid -- --ignored --nocapture whole_grid` runs 2,000
//! of them with default settings, prints a line for each, and counts by epsilon how many runs are
//! trusted and how many of these are off by more than 4.5 standard errors. `sharp_grid` is the same
//! for sharp means of few records. GRID_PROBLEMS sets the number of problems, GRID_SEED selects
//! them and seeds the runs, GRID_PART = 3/8 runs the third of eight equal parts, and GRID_ONLY =
//! BetaMean,HighEdge runs those whose line has all of these words.

mod answer;
mod cases;
mod enumeration;
mod importance;
mod likelihood;
mod oracle;
mod outcome;

use std::collections::BTreeMap;

use cases::{Case, Family, Place};
use outcome::Outcome;
use rand::seq::SliceRandom;
use soma::release::mechanism::Noise;
use soma::rng::stream;

/// One in this many trusted runs may be off.
const ONE_IN: usize = 1000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

/// The part of the cases selected by GRID_PART.
fn part(cases: Vec<Case>) -> Vec<Case> {
    let Ok(text) = std::env::var("GRID_PART") else { return cases };
    let (which, of) = text.split_once('/').expect("GRID_PART = which/of");
    let (which, of): (usize, usize) = (which.parse().unwrap(), of.parse().unwrap());
    cases.into_iter().skip(which - 1).step_by(of).collect()
}

/// The cases whose line has all words that GRID_ONLY lists.
fn only(mut cases: Vec<Case>) -> Vec<Case> {
    let words = std::env::var("GRID_ONLY").unwrap_or_default();
    cases.retain(|case| words.split(',').all(|word| case.to_string().contains(word)));
    cases
}

fn sample(mut cases: Vec<Case>, count: usize, seed: u64) -> Vec<Case> {
    cases.shuffle(&mut stream(seed, 0));
    cases.truncate(count);
    part(only(cases))
}

/// Runs the cases, prints a line for each and the counts by epsilon.
fn run(cases: &[Case], seed: u64) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut unanswered = 0;
    for case in cases {
        let Some(problem) = case.problem() else { continue };
        let Some(answers) = case.answers(&problem, seed) else {
            unanswered += 1;
            continue;
        };
        let outcome = Outcome::of(*case, &problem, &answers, seed);
        println!("{outcome}");
        outcomes.push(outcome);
    }
    let mut by_epsilon: BTreeMap<u64, [usize; 3]> = BTreeMap::new();
    for outcome in &outcomes {
        let counts = by_epsilon.entry((1e6 * outcome.case.epsilon) as u64).or_default();
        counts[0] += 1;
        counts[1] += usize::from(outcome.is_trusted());
        counts[2] += usize::from(outcome.is_trusted() && outcome.is_off());
    }
    println!("epsilon    runs  trusted  trusted and off");
    for (epsilon, [runs, trusted, off]) in &by_epsilon {
        println!("{:<8} {runs:>6} {trusted:>8} {off:>16}", *epsilon as f64 / 1e6);
    }
    println!("without an exact answer: {unanswered}");
    outcomes
}

/// Almost no trusted run is off.
fn assert_honest(outcomes: &[Outcome]) {
    let trusted = outcomes.iter().filter(|outcome| outcome.is_trusted());
    let off: Vec<_> = trusted.clone().filter(|outcome| outcome.is_off()).collect();
    let allowed = trusted.count() / ONE_IN;
    let shown: Vec<String> = off.iter().map(|outcome| outcome.to_string()).collect();
    assert!(off.len() <= allowed, "{} off, {allowed} allowed:\n{}", off.len(), shown.join("\n"));
}

/// One problem of each kind, with large and small noise: no trusted run is off, and most are
/// trusted.
#[test]
fn some_of_the_grid() {
    let case = |family, noise, n, epsilon, place| Case { family, noise, n, epsilon, place };
    let (wide, narrow) = (true, false);
    let cases = [
        case(Family::NormalMean { wide }, Noise::Gaussian, 3, 100.0, Place::Middle),
        case(Family::NormalMean { wide: narrow }, Noise::Laplace, 2, 300.0, Place::Middle),
        case(Family::ExponentialMean { wide }, Noise::Laplace, 10, 10.0, Place::Inside),
        case(Family::BetaMean { wide: narrow }, Noise::Laplace, 2, 100.0, Place::Inside),
        // Records nearer to 1 than floating point resolves.
        case(Family::BetaMean { wide: narrow }, Noise::Laplace, 10, 1.0, Place::HighEdge),
        case(Family::UniformMean, Noise::Gaussian, 3, 30.0, Place::Middle),
        case(Family::Categories, Noise::DiscreteGaussian, 10, 3.0, Place::Outside),
        case(Family::NormalHistogram, Noise::DiscreteLaplace, 3, 1.0, Place::HighEdge),
        case(Family::DirichletLogSum, Noise::Laplace, 2, 3.0, Place::Inside),
        case(Family::Regression, Noise::Gaussian, 3, 1.0, Place::Middle),
    ];
    let outcomes = run(&cases, 1);
    assert_honest(&outcomes);
    let trusted = outcomes.iter().filter(|outcome| outcome.is_trusted()).count();
    assert!(outcomes.len() == cases.len() && trusted + 2 >= cases.len(), "{outcomes:#?}");
}

#[test]
#[ignore = "minutes: see the top of the file"]
fn whole_grid() {
    let seed = number("GRID_SEED", 1);
    let cases = sample(cases::whole_grid(), number("GRID_PROBLEMS", 2000) as usize, seed);
    assert_honest(&run(&cases, seed));
}

#[test]
#[ignore = "minutes: see the top of the file"]
fn sharp_grid() {
    let seed = number("GRID_SEED", 1);
    let cases = sample(cases::sharp_grid(), number("GRID_PROBLEMS", 2000) as usize, seed);
    assert_honest(&run(&cases, seed));
}
