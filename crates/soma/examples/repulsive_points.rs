//! SOMA without any privacy: a fixed number of points in the unit square that repel each other.
//!
//! pi(x) is proportional to exp(-beta sum_{i<j} phi(x_i, x_j)) with phi the Gaussian bump
//! exp(-|x_i - x_j|^2 / (2 h^2)); points are proposed uniformly. For two points the mean of phi is
//! an integral over the square of distances, so that the printed numbers can be checked.
//!
//! Run with `cargo run --release -p soma-mcmc --example repulsive_points`.

use rand::RngExt;
use soma::Outcome;
use soma::diagnostics::mcse_mean;
use soma::kernel::{Target, TargetChain};
use soma::rng::{Rng, stream};

type Point = [f64; 2];

const WIDTH: f64 = 0.15;

fn bump(a: &Point, b: &Point) -> f64 {
    let squared = (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    (-squared / (2.0 * WIDTH * WIDTH)).exp()
}

/// Keeps the energy of each point with all others, so that a move costs n bumps and not n^2.
struct Repulsion {
    beta: f64,
    energies: Vec<f64>,
}

impl Repulsion {
    fn new(beta: f64, points: &[Point]) -> Self {
        let energy = |(i, a): (usize, &Point)| {
            points.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, b)| bump(a, b)).sum()
        };
        Repulsion { beta, energies: points.iter().enumerate().map(energy).collect() }
    }
}

impl Target for Repulsion {
    type Point = Point;

    fn propose(&mut self, rng: &mut Rng) -> Outcome<Point> {
        Ok([rng.random(), rng.random()])
    }

    fn log_weight(&self, points: &[Point], i: usize, proposal: &Point) -> f64 {
        let others = points.iter().enumerate().filter(|(j, _)| *j != i);
        let energy: f64 = others.map(|(_, point)| bump(proposal, point)).sum();
        self.beta * (self.energies[i] - energy)
    }

    fn log_weights(&self, points: &[Point], proposal: &Point, out: &mut [f64]) {
        out.iter_mut().zip(points).for_each(|(weight, point)| *weight = bump(proposal, point));
        let all: f64 = out.iter().sum();
        for (weight, energy) in out.iter_mut().zip(&self.energies) {
            *weight = self.beta * (energy - (all - *weight));
        }
    }

    fn replaced(&mut self, points: &[Point], i: usize, old: &Point) {
        let mut energy = 0.0;
        for (j, point) in points.iter().enumerate().filter(|(j, _)| *j != i) {
            let now = bump(&points[i], point);
            self.energies[j] += now - bump(old, point);
            energy += now;
        }
        self.energies[i] = energy;
    }
}

/// The mean of phi under pi for two points: the distance along each side has density 2 (1 - t).
fn mean_bump_of_two(beta: f64) -> f64 {
    let cells = 1000;
    let (mut total, mut sum) = (0.0, 0.0);
    for a in 0..cells {
        for b in 0..cells {
            let [s, t] = [a, b].map(|cell| (f64::from(cell) + 0.5) / f64::from(cells));
            let phi = bump(&[0.0, 0.0], &[s, t]);
            let weight = (1.0 - s) * (1.0 - t) * (-beta * phi).exp();
            total += weight;
            sum += weight * phi;
        }
    }
    sum / total
}

/// The mean distance of a point to its nearest neighbour.
fn nearest(points: &[Point]) -> f64 {
    let distance = |a: &Point, b: &Point| (a[0] - b[0]).hypot(a[1] - b[1]);
    let each = points.iter().enumerate().map(|(i, a)| {
        let others = points.iter().enumerate().filter(|(j, _)| *j != i);
        others.map(|(_, b)| distance(a, b)).fold(f64::INFINITY, f64::min)
    });
    each.sum::<f64>() / points.len() as f64
}

/// The mean of a function of the points along a chain, its Monte Carlo standard error, and the
/// share of proposals taken.
fn mean_along_chain(
    n: usize,
    beta: f64,
    sweeps: usize,
    function: fn(&[Point]) -> f64,
) -> Outcome<(f64, f64, f64)> {
    let mut rng = stream(1, n as u64);
    let points: Vec<Point> = (0..n).map(|_| [rng.random(), rng.random()]).collect();
    let mut chain = TargetChain::new(Repulsion::new(beta, &points), points);
    let (mut values, mut taken) = (Vec::new(), 0.0);
    for sweep in 0..sweeps {
        let counts = chain.sweep(&mut rng)?;
        if sweep >= sweeps / 10 {
            values.push(function(chain.points()));
            taken += counts.acceptance_rate();
        }
    }
    let count = values.len() as f64;
    Ok((values.iter().sum::<f64>() / count, mcse_mean(&[&values]), taken / count))
}

fn main() -> Outcome {
    let beta = 4.0;
    let (mean, error, _) = mean_along_chain(2, beta, 200_000, |p| bump(&p[0], &p[1]))?;
    println!("two points: mean interaction {mean:.5} +- {error:.5}");
    println!("            by quadrature    {:.5}", mean_bump_of_two(beta));
    for beta in [0.0, beta] {
        let (mean, error, taken) = mean_along_chain(40, beta, 4_000, nearest)?;
        println!(
            "40 points, beta {beta}: nearest neighbour at {mean:.4} +- {error:.4}, {:.1}% of proposals taken",
            100.0 * taken
        );
    }
    Ok(())
}
