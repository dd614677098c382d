//! The surrogate at one value of the standardised noise, and Gaussian approximations from it.

use std::borrow::Cow;

use pulp::{Arch, Simd, WithSimd};

use crate::chain::theta::coordinates::bartlett;
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::chain::theta::coordinates::surrogate::Surrogate;
use crate::error::Outcome;
use crate::numeric::cholesky;
use crate::numeric::dense;

/// The surrogate at one value of the standardised noise.
pub(in crate::chain) struct Local<'a> {
    pub(in crate::chain) surrogate: &'a Surrogate,
    /// The residual at the reference.
    pub(in crate::chain) residual: Vec<f64>,
    pub(in crate::chain) slope: Cow<'a, [f64]>,
}

/// Buffers, reused across evaluations of the surrogate.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Work {
    delta: Vec<f64>,
    bend: Vec<f64>,
    residual: Vec<f64>,
    rows: Vec<f64>,
    precision: Vec<f64>,
    gradient: Vec<f64>,
    of_prior: Vec<f64>,
}

/// A normal or Student distribution: its centre, and a factor of its covariance or precision.
pub(in crate::chain) struct Law {
    pub(in crate::chain) centre: Vec<f64>,
    pub(in crate::chain) factor: Vec<f64>,
}

impl Local<'_> {
    /// The residual at distance `delta` from the reference, to second order, into `work.residual`;
    /// `work.bend` is the curvature times delta.
    #[inline(always)]
    fn residual(&self, work: &mut Work) {
        let Work { delta, bend, residual, .. } = work;
        let dim = delta.len();
        bend.resize(self.slope.len(), 0.0);
        dense::times_each(&self.surrogate.curvature, delta, bend);
        residual.clear();
        let rows = self.slope.chunks_exact(dim).zip(bend.chunks_exact(dim));
        residual.extend(self.residual.iter().zip(rows).map(|(r, (slope, bend))| {
            r + dense::dot(slope, delta) + 0.5 * dense::dot(bend, delta)
        }));
    }

    /// The gradient of the log posterior at a point; the log density of the noise has the
    /// derivatives `-spring(r_k)`.
    pub(in crate::chain) fn gradient(
        &self,
        sums: &Sums,
        point: &[f64],
        spring: impl Fn(usize, f64) -> f64,
        work: &mut Work,
        gradient: &mut [f64],
    ) {
        Arch::new().dispatch(Gradient { local: self, sums, point, spring, work, gradient });
    }

    #[inline(always)]
    fn set_gradient(
        &self,
        sums: &Sums,
        point: &[f64],
        spring: impl Fn(usize, f64) -> f64,
        work: &mut Work,
        gradient: &mut [f64],
    ) {
        let dim = point.len();
        work.delta.clear();
        work.delta.extend(point.iter().zip(&self.surrogate.reference).map(|(x, m)| x - m));
        self.residual(work);
        sums.log_prior_gradient(point, gradient);
        let rows = self.slope.chunks_exact(dim).zip(work.bend.chunks_exact(dim));
        for (k, ((slope, bend), r)) in rows.zip(&work.residual).enumerate() {
            let by = -spring(k, *r);
            gradient.iter_mut().zip(slope).zip(bend).for_each(|((g, s), b)| *g += by * (s + b));
        }
    }

    /// A Gaussian approximation of the conditional of theta at this standardised noise, given the
    /// noise's precisions: its mode and the lower Cholesky factor of its covariance.
    pub(in crate::chain) fn theta_law(
        &self,
        sums: &Sums,
        precisions: &[f64],
        work: &mut Work,
    ) -> Option<Law> {
        Arch::new().dispatch(ThetaLaw { local: self, sums, precisions, work })
    }

    #[inline(always)]
    fn find_theta_law(&self, sums: &Sums, precisions: &[f64], work: &mut Work) -> Option<Law> {
        let (dim, p) = (self.surrogate.reference.len(), sums.p);
        let mut point = self.surrogate.reference.clone();
        let mut step = vec![0.0; dim];
        for _ in 0..JOINT_STEPS {
            self.set_gradient(sums, &point, |k, r| precisions[k] * r, work, &mut step);
            work.rows.clear();
            work.rows.extend(self.slope.iter().zip(&work.bend).map(|(s, b)| s + b));
            let (rows, prior) = (&work.rows, &self.surrogate.prior_precision);
            cholesky::upper_gram(rows, precisions, prior, &mut work.precision);
            if !cholesky::upper(&mut work.precision, dim) {
                return None;
            }
            cholesky::solve_upper_transposed(&work.precision, &mut step);
            cholesky::solve_upper(&work.precision, &mut step);
            point.iter_mut().zip(&step).for_each(|(x, s)| *x += s);
        }
        let mut half = vec![0.0; p * dim];
        for (c, column) in half.chunks_exact_mut(dim).enumerate() {
            column[c] = 1.0;
            cholesky::solve_upper_transposed(&work.precision, column);
        }
        let mut lower = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..=i {
                lower[i * p + j] = dense::dot(&half[i * dim..][..dim], &half[j * dim..][..dim]);
            }
        }
        point.truncate(p);
        let exists = cholesky::lower(&mut lower, p) && point.iter().all(|x| x.is_finite());
        exists.then_some(Law { centre: point, factor: lower })
    }

    /// A Gaussian approximation of the conditional of the Bartlett factors given theta at this
    /// standardised noise, given the noise's precisions: its centre and the
    /// [upper](crate::numeric::cholesky) factor of its precision. The last Newton step uses the
    /// exact residual, at the cost of one pass.
    pub(in crate::chain) fn factors_law(
        &self,
        sums: &Sums,
        free: &[f64],
        precisions: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        work: &mut Work,
    ) -> Outcome<Option<Law>> {
        let local = self;
        Arch::new().dispatch(FrameLaw {
            local,
            sums,
            free,
            precisions,
            standardised,
            scratch,
            work,
        })
    }

    #[inline(always)]
    fn find_frame_law(
        &self,
        sums: &Sums,
        free: &[f64],
        precisions: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        work: &mut Work,
    ) -> Outcome<Option<Law>> {
        let (dim, p) = (sums.dim(), sums.p);
        let q = dim - p;
        let mut point = self.surrogate.reference.clone();
        point[..p].copy_from_slice(free);
        let mut base = vec![0.0; q * q];
        for step in 0..=FRAME_STEPS {
            work.delta.clear();
            work.delta.extend(point.iter().zip(&self.surrogate.reference).map(|(x, m)| x - m));
            self.residual(work);
            let last = step == FRAME_STEPS;
            if last && !sums.residual(&point, standardised, scratch, &mut work.residual)? {
                return Ok(None);
            }
            work.rows.clear();
            let both = self.slope.chunks_exact(dim).zip(work.bend.chunks_exact(dim));
            for (slope, bend) in both {
                work.rows.extend(slope[p..].iter().zip(&bend[p..]).map(|(s, b)| s + b));
            }
            work.of_prior.resize(q, 0.0);
            bartlett::log_prior_precision(sums.n, sums.d, &point[p..], &mut work.of_prior);
            work.of_prior.iter().enumerate().for_each(|(i, x)| base[i * (q + 1)] = *x);
            cholesky::upper_gram(&work.rows, precisions, &base, &mut work.precision);
            work.gradient.resize(q, 0.0);
            bartlett::log_prior_gradient(sums.n, sums.d, &point[p..], &mut work.gradient);
            work.residual.iter_mut().zip(precisions).for_each(|(r, w)| *r *= -w);
            dense::add_rows(&work.rows, &work.residual, &mut work.gradient);
            if !cholesky::upper(&mut work.precision, q) {
                return Ok(None);
            }
            cholesky::solve_upper_transposed(&work.precision, &mut work.gradient);
            cholesky::solve_upper(&work.precision, &mut work.gradient);
            point[p..].iter_mut().zip(&work.gradient).for_each(|(x, s)| *x += s);
        }
        let centre = point.split_off(p);
        let exists = centre.iter().all(|x| x.is_finite());
        Ok(exists.then(|| Law { centre, factor: work.precision.clone() }))
    }
}

/// Newton steps on the surrogate towards the joint mode, and towards the factors' given theta.
const JOINT_STEPS: usize = 2;
const FRAME_STEPS: usize = 2;

/// The gradient and the approximations, compiled for wide vectors.
struct Gradient<'a, F> {
    local: &'a Local<'a>,
    sums: &'a Sums<'a>,
    point: &'a [f64],
    spring: F,
    work: &'a mut Work,
    gradient: &'a mut [f64],
}

impl<F: Fn(usize, f64) -> f64> WithSimd for Gradient<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Gradient { local, sums, point, spring, work, gradient } = self;
        local.set_gradient(sums, point, spring, work, gradient);
    }
}

struct ThetaLaw<'a> {
    local: &'a Local<'a>,
    sums: &'a Sums<'a>,
    precisions: &'a [f64],
    work: &'a mut Work,
}

impl WithSimd for ThetaLaw<'_> {
    type Output = Option<Law>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<Law> {
        self.local.find_theta_law(self.sums, self.precisions, self.work)
    }
}

struct FrameLaw<'a> {
    local: &'a Local<'a>,
    sums: &'a Sums<'a>,
    free: &'a [f64],
    precisions: &'a [f64],
    standardised: &'a Standardised,
    scratch: &'a mut Scratch,
    work: &'a mut Work,
}

impl WithSimd for FrameLaw<'_> {
    type Output = Outcome<Option<Law>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Outcome<Option<Law>> {
        let FrameLaw { local, sums, free, precisions, standardised, scratch, work } = self;
        local.find_frame_law(sums, free, precisions, standardised, scratch, work)
    }
}
