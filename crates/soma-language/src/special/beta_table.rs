//! The map from a standard normal to the logit of a beta, and back.

use statrs::function::beta::{beta_reg, ln_beta};
use statrs::function::erf::erfc;

/// The increasing function u(z) with I(sigmoid(u(z))) = Phi(z), where I is the distribution
/// function of Beta(a, b): if z is standard normal, sigmoid(u(z)) is Beta(a, b).
///
/// u solves u' = phi(z) / f(u), with f the density of the logit. It is integrated from both ends, z
/// = -9 and z = 9, towards 0, the direction in which errors are damped, by Taylor polynomials of
/// degree 14 with a local error of 1e-12 in z. An evaluation is a search for the piece and a
/// polynomial. Beyond the ends, which a normal variable passes with probability 1e-19, the function
/// is linear.
#[derive(Debug, Clone)]
pub struct BetaTable {
    lower: Half,
    /// The lower half of Beta(b, a), whose u(z) is -u(-z) of Beta(a, b).
    upper: Half,
}

/// The smallest number of records for one table: building it costs as much as some hundred records.
pub const TABLE_ROWS: usize = 4096;

const DEGREE: usize = 14;
const TOLERANCE: f64 = 1e-12;
const END: f64 = -9.0;

/// u(z) for z <= 0, piece by piece.
#[derive(Debug, Clone)]
struct Half {
    starts: Vec<f64>,
    values: Vec<f64>,
    pieces: Vec<[f64; DEGREE + 1]>,
    middle: f64,
}

impl BetaTable {
    /// The cost of one of `n` evaluations of the map and of its inverse, with its share of the
    /// table, in units of about ten nanoseconds.
    pub fn costs(n: usize) -> [f64; 2] {
        let table = 1160.0 / n as f64;
        [3.0 + table, 8.5 + table]
    }

    /// The map for Beta(a, b). Shapes are clamped to [1e-4, 1e8], since a proposal of theta may be
    /// extreme; the map stays one-to-one.
    pub fn new(a: f64, b: f64) -> Self {
        let (a, b) = (a.clamp(1e-4, 1e8), b.clamp(1e-4, 1e8));
        BetaTable { lower: Half::new(a, b), upper: Half::new(b, a) }
    }

    /// The logit at a normal.
    #[inline]
    pub fn logit(&self, z: f64) -> f64 {
        if z <= 0.0 { self.lower.logit(z) } else { -self.upper.logit(-z) }
    }

    /// The normal at a logit.
    #[inline]
    pub fn normal(&self, u: f64) -> f64 {
        if u <= self.lower.middle { self.lower.normal(u) } else { -self.upper.normal(-u) }
    }
}

impl Half {
    fn new(a: f64, b: f64) -> Self {
        let log_beta = ln_beta(a, b);
        let mut half =
            Half { starts: Vec::new(), values: Vec::new(), pieces: Vec::new(), middle: 0.0 };
        let (mut z, mut u) = (END, end(a, b, log_beta));
        while z < 0.0 {
            let piece = taylor(a, b, log_beta, z, u);
            let reach = |k: usize| (TOLERANCE * piece[1] / piece[k].abs()).powf(1.0 / k as f64);
            let step = reach(DEGREE).min(reach(DEGREE - 1)).clamp(1e-3, 1.0);
            half.starts.push(z);
            half.values.push(u);
            let next = if z + step > -1e-3 { 0.0 } else { z + step };
            u = value_and_slope(&piece, next - z).0;
            half.pieces.push(piece);
            z = next;
        }
        half.middle = u;
        half
    }

    #[inline]
    fn logit(&self, z: f64) -> f64 {
        let i = self.starts.partition_point(|start| *start <= z);
        if i == 0 {
            return self.values[0] + self.pieces[0][1] * (z - END);
        }
        value_and_slope(&self.pieces[i - 1], z - self.starts[i - 1]).0
    }

    #[inline]
    fn normal(&self, u: f64) -> f64 {
        let i = self.values.partition_point(|value| *value <= u);
        if i == 0 {
            return END + (u - self.values[0]) / self.pieces[0][1];
        }
        let (start, piece) = (self.starts[i - 1], &self.pieces[i - 1]);
        let length = self.starts.get(i).copied().unwrap_or(0.0) - start;
        let rise = self.values.get(i).copied().unwrap_or(self.middle) - piece[0];
        let mut t = length * ((u - piece[0]) / rise);
        for _ in 0..20 {
            let (value, slope) = value_and_slope(piece, t);
            let step = (u - value) / slope;
            t += step;
            // Newton's method converges quadratically: the next step is about the square of this
            // one.
            if step.abs() < 1e-7 {
                break;
            }
        }
        start + t
    }
}

/// A polynomial and its derivative.
#[inline]
fn value_and_slope(piece: &[f64; DEGREE + 1], t: f64) -> (f64, f64) {
    let (mut value, mut slope) = (piece[DEGREE], 0.0);
    for coefficient in piece[..DEGREE].iter().rev() {
        slope = slope * t + value;
        value = value * t + coefficient;
    }
    (value, slope)
}

/// log(1 / (1 + exp(-u))).
fn log_sigmoid(u: f64) -> f64 {
    if u < 0.0 { u - u.exp().ln_1p() } else { -(-u).exp().ln_1p() }
}

/// The Taylor coefficients of u at z. With w = u', x = sigmoid(u) and s = (log f)'(u) = a - (a + b)
/// x, the equations are w' = -w (z + s w) and x' = x (1 - x) w; each coefficient follows from the
/// lower ones.
fn taylor(a: f64, b: f64, log_beta: f64, z: f64, u: f64) -> [f64; DEGREE + 1] {
    let log_f = a * log_sigmoid(u) + b * log_sigmoid(-u) - log_beta;
    let log_phi = -0.5 * z * z - 0.5 * (2.0 * std::f64::consts::PI).ln();
    let mut us = [0.0; DEGREE + 1];
    let (mut w, mut x) = ([0.0; DEGREE + 1], [0.0; DEGREE + 1]);
    let (mut s, mut q, mut r) = ([0.0; DEGREE + 1], [0.0; DEGREE + 1], [0.0; DEGREE + 1]);
    let product = |p: &[f64; DEGREE + 1], q: &[f64; DEGREE + 1], k: usize| {
        p[..=k].iter().zip(q[..=k].iter().rev()).map(|(p, q)| p * q).sum::<f64>()
    };
    us[0] = u;
    w[0] = (log_phi - log_f).exp();
    x[0] = log_sigmoid(u).exp();
    for k in 0..DEGREE {
        us[k + 1] = w[k] / (k + 1) as f64;
        s[k] = -(a + b) * x[k] + if k == 0 { a } else { 0.0 };
        r[k] = x[k] - product(&x, &x, k);
        q[k] = -product(&s, &w, k)
            - if k == 0 {
                z
            } else if k == 1 {
                1.0
            } else {
                0.0
            };
        x[k + 1] = product(&r, &w, k) / (k + 1) as f64;
        w[k + 1] = product(&w, &q, k) / (k + 1) as f64;
    }
    us
}

/// u at the lower end. The log distribution function is concave in u, so Newton's method converges
/// from any start.
fn end(a: f64, b: f64, log_beta: f64) -> f64 {
    let target = (0.5 * erfc(-END / std::f64::consts::SQRT_2)).ln();
    // In the tail the distribution function is x^a / (a B(a, b)).
    let far = (target + a.ln() + log_beta) / a;
    if far < -40.0 {
        return far;
    }
    let mean = (a / b).ln();
    let mut u = far.min(mean);
    for _ in 0..200 {
        let below = beta_reg(a, b, log_sigmoid(u).exp());
        if below < 1e-290 {
            u = 0.5 * (u + mean);
            continue;
        }
        let log_f = a * log_sigmoid(u) + b * log_sigmoid(-u) - log_beta;
        let step = (target - below.ln()) * (below.ln() - log_f).exp();
        u += step;
        if step.abs() < 1e-13 * (1.0 + u.abs()) {
            break;
        }
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    const SHAPES: [f64; 9] = [0.05, 0.2, 0.7, 1.0, 2.5, 10.0, 40.0, 150.0, 500.0];

    /// Compared with the incomplete beta function, in the tail of z.
    #[test]
    fn probabilities_are_those_of_the_beta() {
        for a in SHAPES {
            for b in SHAPES {
                let map = BetaTable::new(a, b);
                for step in -80..=80 {
                    let z = step as f64 / 10.0;
                    let u = map.logit(z);
                    let (p, expected) = if z <= 0.0 {
                        (beta_reg(a, b, log_sigmoid(u).exp()), normal_cdf(z))
                    } else {
                        (beta_reg(b, a, log_sigmoid(-u).exp()), normal_cdf(-z))
                    };
                    assert!(
                        (p / expected - 1.0).abs() < 1e-9,
                        "Beta({a}, {b}) at {z}: {p} for {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn both_ways_is_no_way() {
        for a in SHAPES {
            for b in SHAPES {
                let map = BetaTable::new(a, b);
                for step in -240..=240 {
                    let z = step as f64 / 20.0 + 0.0137;
                    let again = map.normal(map.logit(z));
                    assert!((again - z).abs() < 1e-10, "Beta({a}, {b}): {z} came back as {again}");
                }
            }
        }
    }

    #[test]
    fn halves_meet_in_the_middle() {
        for a in SHAPES {
            for b in SHAPES {
                let map = BetaTable::new(a, b);
                let slope = map.lower.pieces[map.lower.pieces.len() - 1][1];
                let gap = (map.lower.middle + map.upper.middle) / slope;
                assert!(gap.abs() < 1e-10, "Beta({a}, {b}): {gap}");
            }
        }
    }

    #[test]
    fn wild_shapes_are_survived() {
        let wild = [0.0, 1e-300, 1e-4, 0.01, 1.0, 1e4, 1e8, f64::INFINITY];
        for a in wild {
            for b in wild {
                let map = BetaTable::new(a, b);
                for step in -24..=24 {
                    let z = step as f64 / 2.0 + 0.1;
                    let again = map.normal(map.logit(z));
                    assert!((again - z).abs() < 1e-6, "Beta({a}, {b}): {z} came back as {again}");
                }
            }
        }
    }
}
