//! The noise of all records as Bartlett factors and standardised noise.
//!
//! Let e_1, ..., e_n be the noise of the records, independent standard normals of length D. Their
//! mean m and the lower Cholesky factor C of their covariance are the Bartlett factors. The
//! standardised noise is z_i = C^-1 (e_i - m), with mean zero and identity covariance. Bartlett
//! factors and standardised noise are independent, and the distribution of the factors is known
//! (Bartlett's decomposition of a Wishart matrix with n - 1 degrees of freedom): sqrt(n) m_j and
//! sqrt(n) C_jk, k < j, are standard normal, and sqrt(n) C_jj (j from 0) is chi distributed with
//! n - 1 - j degrees of freedom, all independent.
//!
//! So the D n coordinates of the noise split into a few, which dominate the sums of the statistics,
//! and the rest. An update can fix the standardised noise and move the Bartlett factors; their
//! exact prior replaces the prior of the noise, and there is no Jacobian. Or it can fix the
//! Bartlett factors and move the standardised noise.

use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::numeric::cholesky;

/// The mean of the noise and the lower Cholesky factor of its covariance, row by row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::chain) struct Bartlett {
    pub(in crate::chain) centre: Vec<f64>,
    pub(in crate::chain) factor: Vec<f64>,
}

/// The number of coordinates of the Bartlett factors, for noise of length `d`.
pub(in crate::chain) fn factors_dim(d: usize) -> usize {
    d * (d + 3) / 2
}

/// The degrees of freedom of the diagonal entry `j`.
fn degrees(n: usize, j: usize) -> f64 {
    (n - 1 - j) as f64
}

impl Bartlett {
    /// The Bartlett factors of columns (one coordinate of all records after the other). `false` if
    /// their covariance is singular, as it is for n <= D.
    pub(in crate::chain) fn measure(&mut self, columns: &[f64], d: usize) -> bool {
        Arch::new().dispatch(Measure { factors: self, columns, d })
    }

    #[inline(always)]
    fn measure_columns(&mut self, columns: &[f64], d: usize) -> bool {
        let n = columns.len() / d;
        let per_n = 1.0 / n as f64;
        // Distances from one of the records: no cancellation if the mean is far from zero.
        let near: Vec<f64> = columns.iter().step_by(n).copied().collect();
        self.centre.clear();
        self.centre.resize(d, 0.0);
        self.factor.clear();
        self.factor.resize(d * d, 0.0);
        // In blocks of rows that stay in the first-level cache.
        for from in (0..n).step_by(ROWS) {
            let rows = ROWS.min(n - from);
            for j in 0..d {
                let of_j = &columns[j * n + from..][..rows];
                self.centre[j] += sum_of_gaps(of_j, near[j]);
                for k in 0..=j {
                    let of_k = &columns[k * n + from..][..rows];
                    self.factor[j * d + k] += sum_of_products((of_j, near[j]), (of_k, near[k]));
                }
            }
        }
        self.centre.iter_mut().for_each(|m| *m *= per_n);
        for j in 0..d {
            for k in 0..=j {
                let product = &mut self.factor[j * d + k];
                *product = *product * per_n - self.centre[j] * self.centre[k];
            }
        }
        self.centre.iter_mut().zip(near).for_each(|(m, near)| *m += near);
        cholesky::lower(&mut self.factor, d)
    }

    /// The Bartlett factors of the noise e, from those of shift + factor e; the factor is lower
    /// triangular.
    pub(in crate::chain) fn undo(&mut self, shift: &[f64], factor: &[f64]) {
        let d = self.centre.len();
        self.centre.iter_mut().zip(shift).for_each(|(m, shift)| *m -= shift);
        cholesky::solve_lower(factor, &mut self.centre);
        let mut column = vec![0.0; d];
        for j in 0..d {
            (0..d).for_each(|i| column[i] = if i < j { 0.0 } else { self.factor[i * d + j] });
            cholesky::solve_lower(factor, &mut column);
            (j..d).for_each(|i| self.factor[i * d + j] = column[i]);
        }
    }

    /// centre + factor y for the records `rows`, row by row, given all columns of y: the noise with
    /// these factors, if y is its standardised noise.
    pub(in crate::chain) fn join(&self, columns: &[f64], rows: Range<usize>, noise: &mut [f64]) {
        let d = self.centre.len();
        let n = columns.len() / d;
        for j in 0..d {
            for (row, i) in noise.chunks_exact_mut(d).zip(rows.clone()) {
                let mut value = self.centre[j];
                for k in 0..=j {
                    value += self.factor[j * d + k] * columns[k * n + i];
                }
                row[j] = value;
            }
        }
    }

    /// The Bartlett factors as independent, nearly standard normal coordinates: first the centre,
    /// then the factor row by row. Its diagonal is in logarithms, so that the coordinates are
    /// unconstrained.
    pub(in crate::chain) fn coordinates(&self, n: usize, out: &mut [f64]) {
        let d = self.centre.len();
        let root = (n as f64).sqrt();
        out.iter_mut().zip(&self.centre).for_each(|(x, m)| *x = m * root);
        let mut at = d;
        for j in 0..d {
            for k in 0..j {
                out[at] = self.factor[j * d + k] * root;
                at += 1;
            }
            let nu = degrees(n, j);
            out[at] = (self.factor[j * d + j] * root / nu.sqrt()).ln() * (2.0 * nu).sqrt();
            at += 1;
        }
    }

    /// Sets the Bartlett factors from their coordinates. `false` if they overflow.
    pub(in crate::chain) fn set(&mut self, n: usize, d: usize, coordinates: &[f64]) -> bool {
        let per_root = 1.0 / (n as f64).sqrt();
        self.centre.clear();
        self.centre.extend(coordinates[..d].iter().map(|x| x * per_root));
        self.factor.resize(d * d, 0.0);
        let mut at = d;
        for j in 0..d {
            for k in 0..j {
                self.factor[j * d + k] = coordinates[at] * per_root;
                at += 1;
            }
            self.factor[j * d + j] = chi(n, j, coordinates[at]) * per_root;
            at += 1;
        }
        self.factor.iter().chain(&self.centre).all(|x| x.is_finite())
    }

    /// The derivatives of the entries with respect to the coordinates.
    pub(in crate::chain) fn units(&self, n: usize, units: &mut [f64]) {
        let d = self.centre.len();
        units.fill(1.0 / (n as f64).sqrt());
        for_each_coordinate(d, |at, diagonal| {
            if let Some(j) = diagonal {
                units[at] = self.factor[j * d + j] / (2.0 * degrees(n, j)).sqrt();
            }
        });
    }
}

/// The log prior density of the Bartlett factors with respect to their coordinates, up to a
/// constant.
pub(in crate::chain) fn log_prior(n: usize, d: usize, coordinates: &[f64]) -> f64 {
    let mut log_prior = 0.0;
    for_each_coordinate(d, |at, diagonal| {
        let x = coordinates[at];
        log_prior += match diagonal {
            None => -0.5 * x * x,
            // The density of the logarithm of a chi variable.
            Some(j) => degrees(n, j).sqrt() * x * FRAC_1_SQRT_2 - 0.5 * chi(n, j, x).powi(2),
        };
    });
    log_prior
}

/// The gradient of [`log_prior`].
pub(in crate::chain) fn log_prior_gradient(
    n: usize,
    d: usize,
    coordinates: &[f64],
    gradient: &mut [f64],
) {
    for_each_coordinate(d, |at, diagonal| {
        let x = coordinates[at];
        gradient[at] = match diagonal {
            None => -x,
            Some(j) => {
                let nu = degrees(n, j);
                (nu - chi(n, j, x).powi(2)) / (2.0 * nu).sqrt()
            }
        };
    });
}

/// Minus the second derivatives of [`log_prior`], which are diagonal.
pub(in crate::chain) fn log_prior_precision(
    n: usize,
    d: usize,
    coordinates: &[f64],
    precision: &mut [f64],
) {
    for_each_coordinate(d, |at, diagonal| {
        precision[at] = match diagonal {
            None => 1.0,
            Some(j) => chi(n, j, coordinates[at]).powi(2) / degrees(n, j),
        };
    });
}

/// Calls `each` with the index of every coordinate and, for a diagonal entry of the factor, its
/// row.
fn for_each_coordinate(d: usize, mut each: impl FnMut(usize, Option<usize>)) {
    (0..d).for_each(|at| each(at, None));
    let mut at = d;
    for j in 0..d {
        for k in 0..=j {
            each(at, (k == j).then_some(j));
            at += 1;
        }
    }
}

/// sqrt(n) times the diagonal entry `j`, at its coordinate x.
fn chi(n: usize, j: usize, x: f64) -> f64 {
    let nu = degrees(n, j);
    nu.sqrt() * (x / (2.0 * nu).sqrt()).exp()
}

/// Rows per block, and independent partial sums.
const ROWS: usize = 512;
const LANES: usize = 16;

/// The sum of x - a.
#[inline(always)]
fn sum_of_gaps(x: &[f64], a: f64) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = x.len() - x.len() % LANES;
    for x in x.chunks_exact(LANES) {
        (0..LANES).for_each(|lane| sums[lane] += x[lane] - a);
    }
    all(sums) + x[whole..].iter().map(|x| x - a).sum::<f64>()
}

/// The sum of (x - a)(y - b).
#[inline(always)]
fn sum_of_products((x, a): (&[f64], f64), (y, b): (&[f64], f64)) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = x.len() - x.len() % LANES;
    for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact(LANES)) {
        (0..LANES).for_each(|lane| sums[lane] += (x[lane] - a) * (y[lane] - b));
    }
    let rest = x[whole..].iter().zip(&y[whole..]).map(|(x, y)| (x - a) * (y - b));
    all(sums) + rest.sum::<f64>()
}

#[inline(always)]
fn all(mut sums: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        (0..half).for_each(|lane| sums[lane] += sums[lane + half]);
        half /= 2;
    }
    sums[0]
}

struct Measure<'a> {
    factors: &'a mut Bartlett,
    columns: &'a [f64],
    d: usize,
}

impl WithSimd for Measure<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        self.factors.measure_columns(self.columns, self.d)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::chain::theta::coordinates::standardised::Standardised;
    use crate::rng;

    /// The standardised noise of some noise, and the Bartlett factors of it.
    fn split(noise: &[f64], d: usize) -> (Bartlett, Standardised) {
        let n = noise.len() / d;
        let mut standardised = Standardised::default();
        standardised.columns_mut(n, d).copy_from_slice(noise);
        assert!(standardised.measure(d));
        (standardised.base().clone(), standardised)
    }

    #[test]
    fn measure_and_join_are_inverse() {
        let mut rng = rng::stream(1, 0);
        for (d, n) in [(1, 4), (2, 40), (3, 700), (4, 7)] {
            let noise: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
            let (factors, standardised) = split(&noise, d);
            let mut coordinates = vec![0.0; factors_dim(d)];
            factors.coordinates(n, &mut coordinates);
            let mut again = Bartlett::default();
            assert!(again.set(n, d, &coordinates));
            let (mut map, mut joined) = (Bartlett::default(), vec![0.0; n * d]);
            standardised.compose(&again, &mut map);
            map.join(standardised.columns(), 0..n, &mut joined);
            for (i, row) in joined.chunks_exact(d).enumerate() {
                for (j, e) in row.iter().enumerate() {
                    assert!((noise[j * n + i] - e).abs() < 1e-12);
                }
            }
            // With mean 0 and identity covariance, `join` returns the standardised noise.
            again.centre.fill(0.0);
            again.factor.fill(0.0);
            (0..d).for_each(|j| again.factor[j * (d + 1)] = 1.0);
            standardised.compose(&again, &mut map);
            map.join(standardised.columns(), 0..n, &mut joined);
            for j in 0..d {
                for k in 0..d {
                    let rows = joined.chunks_exact(d);
                    let product: f64 = rows.map(|row| row[j] * row[k]).sum();
                    assert!((product / n as f64 - f64::from(j == k)).abs() < 1e-12);
                }
            }
        }
    }

    /// Records that are affine in the noise, far from zero, have the Bartlett factors of the noise.
    #[test]
    fn undo_gives_the_frame_of_the_noise() {
        let (n, d, mut rng) = (30, 2, rng::stream(3, 0));
        let noise: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
        let (shift, factor) = ([3.0, 1e5], [2.0, 0.0, -1.5, 0.3]);
        let mut records = noise.clone();
        for i in 0..n {
            records[i] = shift[0] + factor[0] * noise[i];
            records[n + i] = shift[1] + factor[2] * noise[i] + factor[3] * noise[n + i];
        }
        let (right, _) = split(&noise, d);
        let (mut found, _) = split(&records, d);
        found.undo(&shift, &factor);
        let pairs = found.centre.iter().zip(&right.centre);
        for (a, b) in pairs.chain(found.factor.iter().zip(&right.factor)) {
            assert!((a - b).abs() < 1e-8, "{a} for {b}");
        }
    }

    /// The Bartlett factors of standard normal noise have the density `log_prior`: moments of each
    /// coordinate, by simulation and by quadrature.
    #[test]
    fn frame_has_its_law() {
        let (n, d, draws) = (5, 2, 100_000);
        let mut rng = rng::stream(2, 0);
        let q = factors_dim(d);
        let mut x = vec![0.0; q];
        let mut sums = vec![[0.0; 2]; q];
        for _ in 0..draws {
            let noise: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
            split(&noise, d).0.coordinates(n, &mut x);
            for (sum, x) in sums.iter_mut().zip(&x) {
                sum[0] += x / draws as f64;
                sum[1] += x * x / draws as f64;
            }
        }
        for k in 0..q {
            // The other coordinates are held at zero: they are independent.
            let mut expected = [0.0; 3];
            for step in 0..4000 {
                x.fill(0.0);
                x[k] = -10.0 + (step as f64 + 0.5) * 0.005;
                let density = log_prior(n, d, &x).exp();
                let functions = [1.0, x[k], x[k] * x[k]];
                functions.iter().zip(&mut expected).for_each(|(f, e)| *e += f * density);
            }
            assert!((sums[k][0] - expected[1] / expected[0]).abs() < 0.016, "mean of {k}");
            assert!((sums[k][1] - expected[2] / expected[0]).abs() < 0.04, "square of {k}");
        }
    }

    #[test]
    fn prior_has_its_derivatives() {
        let (n, d) = (6, 2);
        let q = factors_dim(d);
        let x: Vec<f64> = (0..q).map(|i| 0.3 - 0.17 * i as f64).collect();
        let (mut gradient, mut precision) = (vec![0.0; q], vec![0.0; q]);
        log_prior_gradient(n, d, &x, &mut gradient);
        log_prior_precision(n, d, &x, &mut precision);
        for i in 0..q {
            let at = |by: f64| {
                let mut moved = x.clone();
                moved[i] += by;
                log_prior(n, d, &moved)
            };
            let h = 1e-4;
            assert!((gradient[i] - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-6);
            let second = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
            assert!((precision[i] + second).abs() < 1e-4);
        }
    }
}
