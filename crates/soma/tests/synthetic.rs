//! Synthetic records drawn from a noisy histogram, against enumeration and their own simulation, from
//! the text of a spec.
//!
//! 1,000 replications: `cargo test --release -p soma-mcmc --test synthetic -- --ignored --nocapture`

mod common;

use common::{assert_mean, columns, p_value};
use soma::chain::{Engine, Settings};
use soma::release::mechanism::Noise;
use soma::spec::Spec;

fn text(n: &str, values: &str, noise: Noise, scale: f64, model: &str) -> String {
    format!(
        "[release]\nn = {n}\nvalues = {values}\nquery = {{ kind = \"categories\" }}\n\
         mechanism = {{ kind = \"synthetic-records\", noise = {{ kind = \"{}\", scale = {scale} }} \
         }}\n[model]\n{model}\n",
        noise.name()
    )
}

fn spec(n: usize, values: &str, noise: Noise, scale: f64) -> Spec {
    Spec::parse(&text(&n.to_string(), values, noise, scale, FLAT)).unwrap()
}

const FLAT: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";

/// Three cells: sums over all true counts, and over all noisy ones (of discrete noise; of continuous
/// noise on a grid). With a flat Dirichlet prior all true counts are equally likely.
fn exact(n: i64, synthetic: [f64; 3], noise: Noise, scale: f64) -> (Vec<f64>, Vec<f64>) {
    let step = if noise.is_discrete() { 1.0 } else { 0.25 };
    let reach = (scale * 14.0 / step).ceil() as i64;
    let records: f64 = synthetic.iter().sum();
    let low = -(reach as f64) * step;
    let cells = ((n as f64 - 2.0 * low) / step) as usize + 1;
    let grid: Vec<f64> = (0..cells).map(|k| low + k as f64 * step).collect();
    let density: Vec<Vec<f64>> = (0..=n)
        .map(|c| grid.iter().map(|y| noise.log_density(scale, y - c as f64).exp()).collect())
        .collect();
    // Given y the likelihood is the product of y_i^s_i over (sum y)^k: per c the noisy counts of each
    // cell are summed over by the sum of what is above zero, on the grid.
    let weighted = |cell: usize, c: i64| {
        let mut by_height = vec![0.0; cells];
        for (k, &y) in grid.iter().enumerate() {
            let height = y.max(0.0);
            let place = (height / step).round() as usize;
            let power = if synthetic[cell] > 0.0 { height.powf(synthetic[cell]) } else { 1.0 };
            by_height[place] += density[c as usize][k] * power;
        }
        by_height
    };
    let tables: Vec<Vec<Vec<f64>>> =
        (0..3).map(|cell| (0..=n).map(|c| weighted(cell, c)).collect()).collect();
    let (mut mass, mut first, mut second) = (0.0, vec![0.0; 3], vec![0.0; 3]);
    for a in 0..=n {
        for b in 0..=n - a {
            let counts = [a, b, n - a - b];
            let [x, y, z] = [0, 1, 2].map(|cell| &tables[cell][counts[cell] as usize]);
            let mut pairs = vec![0.0; 2 * cells];
            for (i, p) in x.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                for (j, q) in y.iter().enumerate().filter(|(_, q)| **q > 0.0) {
                    pairs[i + j] += p * q;
                }
            }
            // Where no noisy count is above zero, each cell is as likely for every record.
            let none = |cell: usize| -> f64 {
                let density = &density[counts[cell] as usize];
                grid.iter().zip(density).filter(|(y, _)| **y <= 0.0).map(|(_, p)| p).sum()
            };
            let mut weight = none(0) * none(1) * none(2) * 3_f64.powf(-records);
            for (i, p) in pairs.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                for (j, q) in z.iter().enumerate().filter(|(_, q)| **q > 0.0) {
                    if i + j > 0 {
                        weight += p * q * ((i + j) as f64 * step).powf(-records);
                    }
                }
            }
            mass += weight;
            for cell in 0..3 {
                first[cell] += weight * counts[cell] as f64;
                second[cell] += weight * (counts[cell] * counts[cell]) as f64;
            }
        }
    }
    let mean = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / mass).collect();
    (mean(first), mean(second))
}

#[test]
fn true_counts_agree_with_enumeration() {
    for (noise, scale) in [
        (Noise::DiscreteLaplace, 0.5),
        (Noise::DiscreteLaplace, 3.0),
        (Noise::DiscreteGaussian, 1.5),
    ] {
        let spec = spec(8, "[5, 0, 1]", noise, scale);
        let (first, second) = exact(8, [5.0, 0.0, 1.0], noise, scale);
        let columns = columns(&spec, 60_000);
        for cell in 0..3 {
            let count = &columns[3 + cell];
            assert_mean(&format!("{} {scale} count {cell}", noise.name()), count, first[cell]);
            let squares: Vec<f64> = count.iter().map(|c| c * c).collect();
            assert_mean(&format!("{} {scale} square {cell}", noise.name()), &squares, second[cell]);
            let post = (first[cell] + 1.0) / 11.0;
            assert_mean(&format!("{} {scale} share {cell}", noise.name()), &columns[cell], post);
        }
    }
}

/// Continuous noise, on a grid fine enough for the Monte Carlo error.
#[test]
fn continuous_noise_agrees_with_quadrature() {
    let spec = spec(6, "[3, 1, 1]", Noise::Gaussian, 1.5);
    let (first, second) = exact(6, [3.0, 1.0, 1.0], Noise::Gaussian, 1.5);
    let columns = columns(&spec, 60_000);
    for cell in 0..3 {
        assert_mean(&format!("count {cell}"), &columns[3 + cell], first[cell]);
        let squares: Vec<f64> = columns[3 + cell].iter().map(|c| c * c).collect();
        assert_mean(&format!("square {cell}"), &squares, second[cell]);
    }
}

/// Iterations for each rank.
const THIN: u64 = 10;

fn assert_calibrated(replications: u64) {
    for (noise, scale) in
        [(Noise::DiscreteLaplace, 2.0), (Noise::Laplace, 5.0), (Noise::Gaussian, 1.0)]
    {
        let (worst, p) = p_value(&spec(40, "[30, 10, 20]", noise, scale), None, THIN, replications);
        println!("{} {scale}: p {p:.4} ({worst})", noise.name());
        assert!(p > 1e-5, "{} {scale}: {worst} has p = {p}", noise.name());
    }
}

#[test]
fn synthetic_records_are_calibrated() {
    assert_calibrated(60);
}

#[test]
#[ignore = "takes minutes"]
fn synthetic_records_are_calibrated_finely() {
    assert_calibrated(1000);
}

/// The power: noise taken for a fifth of what it is.
#[test]
fn mistaken_noise_is_caught() {
    let assumed = spec(40, "[300, 100, 200]", Noise::DiscreteLaplace, 1.0);
    let used = spec(40, "[300, 100, 200]", Noise::DiscreteLaplace, 5.0);
    let (_, p) = p_value(&assumed, Some(&used), THIN, 150);
    assert!(p < 1e-5, "p = {p}");
}

/// A chain that was stored goes on exactly, the noisy counts with it.
#[test]
fn a_stored_chain_goes_on() {
    let spec = spec(40, "[30, 10, 20]", Noise::Laplace, 2.0);
    let settings = Settings { warmup: 20, ..Settings::default() };
    let mut chain = Engine::new(&spec.problem, &settings, 0).unwrap();
    (0..35).for_each(|_| chain.step().unwrap());
    let text = serde_json::to_string(&chain.snapshot()).unwrap();
    let mut again = Engine::restore(&spec.problem, serde_json::from_str(&text).unwrap()).unwrap();
    for _ in 0..20 {
        chain.step().unwrap();
        again.step().unwrap();
        assert_eq!(chain.draw(), again.draw());
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let field = |text: String| match Spec::parse(&text) {
        Err(error) => error.invalid.field.clone(),
        Ok(_) => panic!("not refused: {text}"),
    };
    let laplace = Noise::Laplace;
    assert_eq!(field(text("40", "[5, -1]", laplace, 1.0, FLAT)), "release.values[1]");
    assert_eq!(field(text("40", "[5, 1]", laplace, -1.0, FLAT)), "release.mechanism.noise.scale");
    assert_eq!(field(text("\"unknown\"", "[5, 1]", laplace, 1.0, FLAT)), "release");
}
