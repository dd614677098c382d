//! Random numbers for a program.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, OpenClosed01, StandardNormal};

use crate::graph::Draw;

/// A source of randomness for a program.
pub trait Randomness {
    /// A draw with these arguments; NaN if they are invalid.
    fn draw(&mut self, draw: Draw, args: [f64; 2]) -> f64;

    /// A draw for each entry of `out`, all with the same arguments.
    fn draw_all(&mut self, draw: Draw, args: [f64; 2], out: &mut [f64]) {
        out.iter_mut().for_each(|to| *to = self.draw(draw, args));
    }
}

/// For a program that draws nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Randomness for Quiet {
    fn draw(&mut self, _: Draw, _: [f64; 2]) -> f64 {
        f64::NAN
    }
}

impl<R: Rng> Randomness for &mut R {
    fn draw(&mut self, draw: Draw, args: [f64; 2]) -> f64 {
        let mut one = [f64::NAN];
        self.draw_all(draw, args, &mut one);
        one[0]
    }

    fn draw_all(&mut self, draw: Draw, [a, b]: [f64; 2], out: &mut [f64]) {
        let rng = &mut **self;
        match draw {
            Draw::Normal => out.iter_mut().for_each(|to| *to = rng.sample(StandardNormal)),
            Draw::Uniform => out.iter_mut().for_each(|to| *to = open_uniform(rng)),
            Draw::Exponential => out.iter_mut().for_each(|to| *to = rng.sample(Exp1)),
            Draw::Gamma => fill_gamma(rng, a, out),
            Draw::Beta if a.min(b) < SMALL_SHAPE => {
                for to in out {
                    let logs = [log_gamma_draw(rng, a), log_gamma_draw(rng, b)];
                    *to = inside(1.0 / (1.0 + (logs[1] - logs[0]).exp()));
                }
            }
            Draw::Beta => fill(rng, rand_distr::Beta::new(a, b), inside, out),
            Draw::Poisson if a == 0.0 => out.fill(0.0),
            Draw::Poisson => fill(rng, rand_distr::Poisson::new(a), |x: f64| x, out),
            Draw::Binomial => {
                let n = if (0.0..1e15).contains(&a) { Some(a as u64) } else { None };
                let law = n.ok_or(()).and_then(|n| rand_distr::Binomial::new(n, b).map_err(|_| ()));
                fill(rng, law, |k: u64| k as f64, out);
            }
        }
    }
}

/// Below this shape draws are on the log scale, since direct ones underflow.
const SMALL_SHAPE: f64 = 0.1;

fn fill<R: Rng, T, D: Distribution<T>, E>(
    rng: &mut R,
    law: Result<D, E>,
    value: impl Fn(T) -> f64,
    out: &mut [f64],
) {
    match law {
        Ok(law) => out.iter_mut().for_each(|to| *to = value(law.sample(rng))),
        Err(_) => out.fill(f64::NAN),
    }
}

fn fill_gamma<R: Rng>(rng: &mut R, shape: f64, out: &mut [f64]) {
    if shape < SMALL_SHAPE && shape > 0.0 {
        let positive = |log: f64| log.exp().max(f64::MIN_POSITIVE);
        return out.iter_mut().for_each(|to| *to = positive(log_gamma_draw(rng, shape)));
    }
    fill(rng, rand_distr::Gamma::new(shape, 1.0), |x: f64| x.max(f64::MIN_POSITIVE), out);
}

/// The logarithm of a draw of Gamma(shape, 1): Gamma(shape + 1, 1) times U^(1 / shape).
fn log_gamma_draw<R: Rng>(rng: &mut R, shape: f64) -> f64 {
    match rand_distr::Gamma::new(shape + 1.0, 1.0) {
        Ok(law) if shape > 0.0 => {
            let gamma: f64 = law.sample(rng);
            let uniform: f64 = rng.sample(OpenClosed01);
            gamma.ln() + uniform.ln() / shape
        }
        _ => f64::NAN,
    }
}

/// Clamps to (0, 1), where densities are finite.
fn inside(x: f64) -> f64 {
    x.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0)
}

/// A uniform on (0, 1), both ends left out.
fn open_uniform<R: Rng>(rng: &mut R) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}
