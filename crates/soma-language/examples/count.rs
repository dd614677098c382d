//! One piece of work, by a text or by a loop written for it, to be counted by callgrind.
//!
//! Usage: `count MODEL SIDE WORK`, with MODEL normal, regression or beta, SIDE text or hand, WORK
//! propose, ratios, gradient, statistics or none. Each does the same 100 batches of 1,024 records;
//! `scripts/language_counts.sh` runs them all and prints the ratios.

use std::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use soma_language::{Data, Model, Statistics, Workspace};

type Rng = rand::rngs::ChaCha8Rng;

const RECORDS: usize = 1024;
const BATCHES: usize = 100;

fn text(name: &str) -> (Model, Statistics, Vec<f64>) {
    let data = Data::new().vector("centre", vec![0.9, -1.17]);
    let (parameters, record, statistics, theta): (_, _, &[&str], _) = match name {
        "normal" => (
            "m ~ normal(0, 1)\ns2 ~ inverse_gamma(5, 4)",
            "x ~ normal(m, sqrt(s2))",
            &["clamp(x, -6, 6) / 6", "clamp(x / 6, -1, 1) ^ 2"],
            vec![0.3, 1.7],
        ),
        "regression" => (
            "b[1..3] ~ normal(0, 2)\ns2 ~ inverse_gamma(5, 4)",
            "x[1..2] ~ normal(centre, 1)\ny ~ normal(b[1] + dot(b[2..3], x), sqrt(s2))",
            &[
                "clamp(y / 6, -1, 1)",
                "clamp(x[1] / 6, -1, 1) * clamp(y / 6, -1, 1)",
                "clamp(x[2] / 6, -1, 1)",
            ],
            vec![-1.5, 0.5, 1.1, 1.7],
        ),
        _ => (
            "a ~ gamma(2, 0.5)\nb ~ gamma(3, 1)",
            "x ~ beta(a, b)",
            &["x", "x ^ 2"],
            vec![2.5, 4.0],
        ),
    };
    let model = Model::new(parameters, record, &data).expect("the texts of this example are right");
    let statistics = Statistics::new(statistics, &model).expect("they are bounded");
    (model, statistics, theta)
}

fn by_text(name: &str, work: &str) -> f64 {
    let (model, statistics, theta) = text(name);
    let other: Vec<f64> = theta.iter().map(|x| x * 1.1).collect();
    let (mut rng, mut w) = (Rng::seed_from_u64(1), Workspace::new());
    let mut records = vec![0.0; RECORDS * model.record_dim()];
    model.propose(&theta, &mut records, &mut rng, &mut w);
    let mut out = vec![0.0; RECORDS * statistics.dim()];
    let mut gradient = vec![0.0; theta.len()];
    let mut total = 0.0;
    for _ in 0..BATCHES {
        let (theta, records) = (black_box(&theta), black_box(&mut records));
        match work {
            "propose" => model.propose(theta, records, &mut rng, &mut w),
            "ratios" => model.log_ratios(theta, &other, records, &mut out[..RECORDS], &mut w),
            "gradient" => {
                total += model.log_likelihood_gradient(theta, records, &mut gradient, &mut w)
            }
            "statistics" => statistics.evaluate(records, &mut out, &mut w),
            _ => {}
        }
        total += records[0] + out[0] + gradient[0];
    }
    total
}

fn by_hand(name: &str, work: &str) -> f64 {
    let (_, _, theta) = text(name);
    let other: Vec<f64> = theta.iter().map(|x| x * 1.1).collect();
    let mut rng = Rng::seed_from_u64(1);
    let d = if name == "regression" { 3 } else { 1 };
    let mut records = vec![0.0; RECORDS * d];
    hand_propose(name, &theta, &mut records, &mut rng);
    let mut out = vec![0.0; RECORDS * 3];
    let mut total = 0.0;
    for _ in 0..BATCHES {
        let (theta, records) = (black_box(&theta), black_box(&mut records));
        match work {
            "propose" => hand_propose(name, theta, records, &mut rng),
            "ratios" => hand_ratios(name, theta, &other, records, &mut out[..RECORDS]),
            "gradient" => total += hand_gradient(name, theta, records),
            "statistics" => hand_statistics(name, records, &mut out),
            _ => {}
        }
        total += records[0] + out[0];
    }
    total
}

#[inline(never)]
fn hand_propose(name: &str, theta: &[f64], records: &mut [f64], rng: &mut Rng) {
    match name {
        "normal" => {
            let (m, s) = (theta[0], theta[1].sqrt());
            records.iter_mut().for_each(|x| *x = m + s * rng.sample::<f64, _>(StandardNormal));
        }
        "regression" => {
            let s = theta[3].sqrt();
            records.iter_mut().for_each(|e| *e = rng.sample(StandardNormal));
            for row in records.as_chunks_mut::<3>().0 {
                row[0] += 0.9;
                row[1] -= 1.17;
                row[2] = theta[0] + theta[1] * row[0] + theta[2] * row[1] + s * row[2];
            }
        }
        _ => {
            let law = rand_distr::Beta::new(theta[0], theta[1]).expect("shapes are positive");
            records.iter_mut().for_each(|x| *x = law.sample(rng));
        }
    }
}

#[inline(never)]
fn hand_ratios(name: &str, from: &[f64], to: &[f64], records: &[f64], out: &mut [f64]) {
    match name {
        "normal" => {
            let constant = 0.5 * (from[1] / to[1]).ln();
            for (to_write, x) in out.iter_mut().zip(records) {
                let (a, b) = (x - from[0], x - to[0]);
                *to_write = constant + 0.5 * (a * a / from[1] - b * b / to[1]);
            }
        }
        "regression" => {
            let constant = 0.5 * (from[3] / to[3]).ln();
            let halves = [0.5 / from[3], 0.5 / to[3]];
            for (to_write, row) in out.iter_mut().zip(records.as_chunks::<3>().0) {
                let gap = |t: &[f64]| row[2] - t[0] - t[1] * row[0] - t[2] * row[1];
                let (a, b) = (gap(from), gap(to));
                *to_write = constant + halves[0] * a * a - halves[1] * b * b;
            }
        }
        _ => {
            let (a, b) = (to[0] - from[0], to[1] - from[1]);
            for (to_write, x) in out.iter_mut().zip(records) {
                *to_write = a * x.ln() + b * (-x).ln_1p();
            }
        }
    }
}

#[inline(never)]
fn hand_gradient(name: &str, theta: &[f64], records: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    match name {
        "normal" => {
            for x in records {
                let r = x - theta[0];
                sums[0] += r;
                sums[1] += r * r;
            }
        }
        "regression" => {
            for row in records.as_chunks::<3>().0 {
                let r = row[2] - theta[0] - theta[1] * row[0] - theta[2] * row[1];
                sums[0] += r;
                sums[1] += r * row[0];
                sums[2] += r * row[1];
                sums[3] += r * r;
            }
        }
        _ => {
            for x in records {
                sums[0] += x.ln();
                sums[1] += (-x).ln_1p();
            }
        }
    }
    sums.iter().sum()
}

#[inline(never)]
fn hand_statistics(name: &str, records: &[f64], out: &mut [f64]) {
    match name {
        "normal" => {
            for (row, x) in out.as_chunks_mut::<2>().0.iter_mut().zip(records) {
                *row = [x.clamp(-6.0, 6.0) / 6.0, (x / 6.0).clamp(-1.0, 1.0).powi(2)];
            }
        }
        "regression" => {
            for (row, record) in
                out.as_chunks_mut::<3>().0.iter_mut().zip(records.as_chunks::<3>().0)
            {
                let u = record.map(|x| (x * (1.0 / 6.0)).clamp(-1.0, 1.0));
                *row = [u[2], u[0] * u[2], u[1]];
            }
        }
        _ => {
            for (row, x) in out.as_chunks_mut::<2>().0.iter_mut().zip(records) {
                *row = [*x, x * x];
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, side, work] = args.as_slice() else {
        eprintln!(
            "usage: count normal|regression|beta text|hand propose|ratios|gradient|statistics|none"
        );
        std::process::exit(2);
    };
    let total = if side == "text" { by_text(name, work) } else { by_hand(name, work) };
    println!("{total}");
}
