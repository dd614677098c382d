//! The noise of all records as a frame and a pattern.
//!
//! Let e_1, ..., e_n be the noise of the records, independent standard normals of length D. Their
//! mean m and the lower Cholesky factor C of their covariance are the frame; the pattern is
//! z_i = C^-1 (e_i - m), of mean zero and covariance the identity. Frame and pattern are
//! independent, and the law of the frame is known (Bartlett's decomposition of a Wishart matrix
//! with n - 1 degrees of freedom): sqrt(n) m_j and sqrt(n) C_jk, k < j, are standard normal, and
//! sqrt(n) C_jj (j from 0) has the chi law with n - 1 - j degrees of freedom, all independent.
//!
//! So the D n numbers of the noise split into a few, which carry all that sums of statistics feel
//! first, and the rest. A move can hold the pattern and move the frame, with the exact prior of the
//! frame in the place of the prior of the noise and no Jacobian to compute; or hold the frame and
//! move the pattern.

use std::f64::consts::FRAC_1_SQRT_2;

/// The mean of the noise and the lower Cholesky factor of its covariance, row after row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) centre: Vec<f64>,
    pub(super) factor: Vec<f64>,
}

/// The number of a frame's coordinates, for noise of length `d`.
pub(super) fn frame_dim(d: usize) -> usize {
    d * (d + 3) / 2
}

/// The degrees of freedom of the diagonal entry `j`.
fn degrees(n: usize, j: usize) -> f64 {
    (n - 1 - j) as f64
}

impl Frame {
    /// Splits the noise: the frame is returned, the pattern is left in the place of the noise.
    /// `None` where the covariance is singular, as it is for n <= D.
    pub(super) fn split(noise: &mut [f64], d: usize) -> Option<Frame> {
        match d {
            1 => Frame::split_sized(1, noise),
            2 => Frame::split_sized(2, noise),
            3 => Frame::split_sized(3, noise),
            d => Frame::split_sized(d, noise),
        }
    }

    /// With `d` known where it is called, the compiler unrolls the inner loops.
    #[inline(always)]
    fn split_sized(d: usize, noise: &mut [f64]) -> Option<Frame> {
        let n = (noise.len() / d) as f64;
        let mut centre = vec![0.0; d];
        for row in noise.chunks_exact(d) {
            centre.iter_mut().zip(row).for_each(|(m, e)| *m += e);
        }
        centre.iter_mut().for_each(|m| *m /= n);
        let mut factor = vec![0.0; d * d];
        for row in noise.chunks_exact_mut(d) {
            row.iter_mut().zip(&centre).for_each(|(e, m)| *e -= m);
            for j in 0..d {
                for k in 0..=j {
                    factor[j * d + k] += row[j] * row[k];
                }
            }
        }
        factor.iter_mut().for_each(|c| *c /= n);
        cholesky(&mut factor, d)?;
        let reciprocal: Vec<f64> = (0..d).map(|j| 1.0 / factor[j * d + j]).collect();
        for row in noise.chunks_exact_mut(d) {
            for j in 0..d {
                let mut value = row[j];
                for k in 0..j {
                    value -= factor[j * d + k] * row[k];
                }
                row[j] = value * reciprocal[j];
            }
        }
        Some(Frame { centre, factor })
    }

    /// The noise with this frame and the given pattern.
    pub(super) fn join(&self, pattern: &[f64], noise: &mut [f64]) {
        match self.centre.len() {
            1 => self.join_sized(1, pattern, noise),
            2 => self.join_sized(2, pattern, noise),
            3 => self.join_sized(3, pattern, noise),
            d => self.join_sized(d, pattern, noise),
        }
    }

    #[inline(always)]
    fn join_sized(&self, d: usize, pattern: &[f64], noise: &mut [f64]) {
        let (centre, factor) = (&self.centre[..d], &self.factor[..d * d]);
        for (z, e) in pattern.chunks_exact(d).zip(noise.chunks_exact_mut(d)) {
            for j in 0..d {
                let mut value = centre[j];
                for k in 0..=j {
                    value += factor[j * d + k] * z[k];
                }
                e[j] = value;
            }
        }
    }

    /// The frame as numbers that are independent and nearly standard normal: first the centre,
    /// then the factor row by row, its diagonal as logarithms, so that any numbers are a frame.
    pub(super) fn coordinates(&self, n: usize, out: &mut [f64]) {
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

    /// Sets the frame from its coordinates. `false` where there is no such frame.
    pub(super) fn set(&mut self, n: usize, d: usize, coordinates: &[f64]) -> bool {
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

    /// The derivatives of the frame's entries with respect to their coordinates.
    pub(super) fn units(&self, n: usize) -> Vec<f64> {
        let d = self.centre.len();
        let mut units = vec![1.0 / (n as f64).sqrt(); frame_dim(d)];
        for_each_coordinate(d, |at, diagonal| {
            if let Some(j) = diagonal {
                units[at] = self.factor[j * d + j] / (2.0 * degrees(n, j)).sqrt();
            }
        });
        units
    }
}

/// The log density of the frame's prior with respect to its coordinates, up to a constant.
pub(super) fn log_prior(n: usize, d: usize, coordinates: &[f64]) -> f64 {
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

/// The gradient of [`log_prior`], and minus its second derivatives, which are diagonal.
pub(super) fn log_prior_shape(
    n: usize,
    d: usize,
    coordinates: &[f64],
    gradient: &mut [f64],
    precision: &mut [f64],
) {
    for_each_coordinate(d, |at, diagonal| {
        let x = coordinates[at];
        (gradient[at], precision[at]) = match diagonal {
            None => (-x, 1.0),
            Some(j) => {
                let (nu, square) = (degrees(n, j), chi(n, j, x).powi(2));
                ((nu - square) / (2.0 * nu).sqrt(), square / nu)
            }
        };
    });
}

/// Calls `each` with the place of every coordinate, and the row of the factor whose diagonal
/// entry it is, if it is one.
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

/// The lower Cholesky factor of the lower triangle, in place.
fn cholesky(a: &mut [f64], d: usize) -> Option<()> {
    for j in 0..d {
        for k in 0..=j {
            let mut value = a[j * d + k];
            for l in 0..k {
                value -= a[j * d + l] * a[k * d + l];
            }
            if j > k {
                a[j * d + k] = value / a[k * d + k];
            } else if value > 0.0 {
                a[j * d + j] = value.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng;

    #[test]
    fn split_and_join_are_inverse() {
        let mut rng = rng::stream(1, 0);
        for d in 1..5 {
            let n = d + 3;
            let noise: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
            let mut pattern = noise.clone();
            let frame = Frame::split(&mut pattern, d).unwrap();
            let mut coordinates = vec![0.0; frame_dim(d)];
            frame.coordinates(n, &mut coordinates);
            let mut again = Frame::default();
            assert!(again.set(n, d, &coordinates));
            let mut joined = vec![0.0; n * d];
            again.join(&pattern, &mut joined);
            assert!(noise.iter().zip(&joined).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    /// The frame of standard normal noise has the law whose density `log_prior` states: moments of
    /// each coordinate, by simulation and by quadrature.
    #[test]
    fn frame_has_its_law() {
        let (n, d, draws) = (5, 2, 100_000);
        let mut rng = rng::stream(2, 0);
        let q = frame_dim(d);
        let mut x = vec![0.0; q];
        let mut sums = vec![[0.0; 2]; q];
        for _ in 0..draws {
            let mut noise: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
            Frame::split(&mut noise, d).unwrap().coordinates(n, &mut x);
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
        let q = frame_dim(d);
        let x: Vec<f64> = (0..q).map(|i| 0.3 - 0.17 * i as f64).collect();
        let (mut gradient, mut precision) = (vec![0.0; q], vec![0.0; q]);
        log_prior_shape(n, d, &x, &mut gradient, &mut precision);
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
