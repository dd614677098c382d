//! The distributions of theta updates, with their densities.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Gamma, StandardNormal};
use statrs::function::gamma::ln_gamma;

use super::maximal::Law;
use crate::error::{Invalid, Outcome, listed};
use crate::rng::Rng;

/// The multivariate Student distribution with `degrees` of freedom around a centre: the normal with
/// precision matrix A, with heavier tails.
#[derive(Debug, Clone)]
pub struct StudentLaw {
    centre: DVector<f64>,
    factor: DMatrix<f64>,
    degrees: f64,
    squares: ChiSquared<f64>,
}

impl StudentLaw {
    /// The distribution with this centre, lower Cholesky factor of A, and degrees of freedom.
    pub fn new(centre: DVector<f64>, factor: DMatrix<f64>, degrees: f64) -> Outcome<Self> {
        Ok(StudentLaw { centre, factor, degrees, squares: ChiSquared::new(degrees)? })
    }
}

impl Law for StudentLaw {
    type Point = DVector<f64>;

    fn sample(&self, rng: &mut Rng) -> Outcome<DVector<f64>> {
        let mut z = DVector::from_fn(self.centre.len(), |_, _| rng.sample(StandardNormal));
        // L'^-1 z has the precision matrix LL'.
        self.factor.tr_solve_lower_triangular_mut(&mut z);
        let widening = (self.degrees / self.squares.sample(rng)).sqrt();
        Ok(&self.centre + z * widening)
    }

    fn log_density(&self, x: &DVector<f64>) -> f64 {
        let (d, v) = (self.centre.len() as f64, self.degrees);
        let square = self.factor.tr_mul(&(x - &self.centre)).norm_squared();
        ln_gamma(0.5 * (v + d)) - ln_gamma(0.5 * v) - 0.5 * d * (v * std::f64::consts::PI).ln()
            + self.factor.diagonal().iter().map(|l| l.ln()).sum::<f64>()
            - 0.5 * (v + d) * (square / v).ln_1p()
    }
}

/// The Dirichlet distribution.
#[derive(Debug, Clone)]
pub struct DirichletLaw {
    alpha: Vec<f64>,
    parts: Vec<Gamma<f64>>,
}

impl DirichletLaw {
    /// The distribution with these concentrations.
    pub fn new(alpha: Vec<f64>) -> Outcome<Self> {
        let parts = alpha.iter().map(|&a| Gamma::new(a, 1.0)).collect::<Result<_, _>>();
        let parts = parts.map_err(|_| {
            let given = listed(&alpha.iter().map(f64::to_string).collect::<Vec<_>>());
            Invalid::new("alpha", "must be positive numbers", given, "finite numbers above 0")
        })?;
        Ok(DirichletLaw { alpha, parts })
    }
}

impl Law for DirichletLaw {
    type Point = Vec<f64>;

    fn sample(&self, rng: &mut Rng) -> Outcome<Vec<f64>> {
        let mut x: Vec<f64> =
            self.parts.iter().map(|part| part.sample(rng).max(f64::MIN_POSITIVE)).collect();
        let total: f64 = x.iter().sum();
        x.iter_mut().for_each(|part| *part /= total);
        Ok(x)
    }

    fn log_density(&self, x: &Vec<f64>) -> f64 {
        let kernel: f64 = self.alpha.iter().zip(x).map(|(a, x)| (a - 1.0) * x.ln()).sum();
        let constants: f64 = self.alpha.iter().map(|&a| ln_gamma(a)).sum();
        kernel - constants + ln_gamma(self.alpha.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::maximal::maximal;
    use crate::model::{GammaPrior, NormalInverseGamma};
    use crate::rng;

    /// Points are theta: the coefficients and then the variance.
    impl Law for NormalInverseGamma {
        type Point = Vec<f64>;

        fn sample(&self, rng: &mut Rng) -> Outcome<Vec<f64>> {
            let mut theta = vec![0.0; self.mean.len() + 1];
            NormalInverseGamma::sample(self, &mut theta, rng)?;
            Ok(theta)
        }

        fn log_density(&self, theta: &Vec<f64>) -> f64 {
            NormalInverseGamma::log_density(self, theta)
        }
    }

    /// Draws of the coupling: each side has its own marginal, and the two agree with the
    /// probability of the overlap of the densities (by quadrature or importance sampling).
    fn check<L: Law>(first: &L, second: &L, overlap: f64, feature: impl Fn(&L::Point) -> f64) {
        let couple = |rng: &mut Rng| maximal(first, second, rng).unwrap();
        check_coupling([first, second], couple, overlap, feature);
    }

    fn check_coupling<L: Law>(
        [first, second]: [&L; 2],
        couple: impl Fn(&mut Rng) -> (L::Point, L::Point, bool),
        overlap: f64,
        feature: impl Fn(&L::Point) -> f64,
    ) {
        let draws = 60_000;
        let mut rng = rng::stream(11, 0);
        let mut same = 0;
        let mut sides = [Vec::new(), Vec::new()];
        let mut plain = [Vec::new(), Vec::new()];
        for _ in 0..draws {
            let (x, y, equal) = couple(&mut rng);
            same += usize::from(equal);
            sides[0].push(feature(&x));
            sides[1].push(feature(&y));
            plain[0].push(feature(&first.sample(&mut rng).unwrap()));
            plain[1].push(feature(&second.sample(&mut rng).unwrap()));
        }
        let share = same as f64 / draws as f64;
        let error = (overlap * (1.0 - overlap) / draws as f64).sqrt();
        assert!((share - overlap).abs() < 4.5 * error, "met {share}, overlap {overlap}");
        for (coupled, plain) in sides.iter_mut().zip(&mut plain) {
            let distance = kolmogorov(coupled, plain);
            assert!(distance < 1.95 * (2.0 / draws as f64).sqrt(), "distance {distance}");
        }
    }

    /// The largest gap between two empirical distribution functions.
    fn kolmogorov(a: &mut [f64], b: &mut [f64]) -> f64 {
        a.sort_unstable_by(f64::total_cmp);
        b.sort_unstable_by(f64::total_cmp);
        let mut gap: f64 = 0.0;
        let mut j = 0;
        for (i, x) in a.iter().enumerate() {
            while j < b.len() && b[j] <= *x {
                j += 1;
            }
            gap = gap.max(((i + 1) as f64 - j as f64).abs() / a.len() as f64);
        }
        gap
    }

    /// The overlap of two univariate distributions, by the midpoint rule.
    fn overlap<L: Law>(
        first: &L,
        second: &L,
        (low, high): (f64, f64),
        point: impl Fn(f64) -> L::Point,
    ) -> f64 {
        let cells = 20_000;
        let width = (high - low) / cells as f64;
        (0..cells)
            .map(|c| {
                let x = point(low + (c as f64 + 0.5) * width);
                first.log_density(&x).min(second.log_density(&x)).exp() * width
            })
            .sum()
    }

    #[test]
    fn gammas_meet_as_often_as_they_can() {
        let (p, q) = (GammaPrior::new(3.0, 2.0).unwrap(), GammaPrior::new(4.0, 1.5).unwrap());
        check(&p, &q, overlap(&p, &q, (0.0, 25.0), |x| x), |x| *x);
    }

    #[test]
    fn normal_inverse_gammas_meet_as_often_as_they_can() {
        let law = |mean: f64, precision: f64, shape: f64, rate: f64| {
            let precision = DMatrix::from_element(1, 1, precision);
            NormalInverseGamma::new(vec![mean], &precision, shape, rate).unwrap()
        };
        let p = law(0.0, 5.0, 6.0, 4.0);
        for q in [law(0.15, 6.0, 6.0, 5.0), law(0.15, 6.0, 5.0, 4.0)] {
            let (cells, mut overlap) = (1_000, 0.0);
            for a in 0..cells {
                for b in 0..cells {
                    let sigma2 = (-3.0 + 6.0 * (a as f64 + 0.5) / cells as f64).exp();
                    let beta = 8.0 * ((b as f64 + 0.5) / cells as f64 - 0.5);
                    let x = vec![beta, sigma2];
                    let width = 6.0 * sigma2 * 8.0 / (cells * cells) as f64;
                    let (p, q) = (Law::log_density(&p, &x), Law::log_density(&q, &x));
                    overlap += p.min(q).exp() * width;
                }
            }
            let laws = [p.clone(), q];
            let couple = |rng: &mut Rng| {
                let (mut x, mut y) = (vec![0.0; 2], vec![0.0; 2]);
                let same = NormalInverseGamma::sample_pair(&laws, [&mut x, &mut y], rng).unwrap();
                assert_eq!(same, x == y);
                (x, y, same)
            };
            check_coupling(laws.each_ref(), couple, overlap, |x| x[0] + 0.5 * x[1]);
        }
    }

    #[test]
    fn students_meet_as_often_as_they_can() {
        let factor = DMatrix::from_element(1, 1, 2.0);
        let law = |x| StudentLaw::new(DVector::from_element(1, x), factor.clone(), 5.0).unwrap();
        let (p, q) = (law(0.0), law(0.6));
        let point = |x| DVector::from_element(1, x);
        check(&p, &q, overlap(&p, &q, (-30.0, 30.0), point), |x| x[0]);
    }

    #[test]
    fn dirichlets_meet_as_often_as_they_can() {
        let p = DirichletLaw::new(vec![2.0, 3.0, 1.5]).unwrap();
        let q = DirichletLaw::new(vec![2.5, 2.0, 2.0]).unwrap();
        let cells = 1_000;
        let width = 1.0 / cells as f64;
        let mut overlap = 0.0;
        for a in 0..cells {
            for b in 0..cells - a - 1 {
                let (x, y) = ((a as f64 + 0.5) * width, (b as f64 + 0.5) * width);
                let x = vec![x, y, 1.0 - x - y];
                overlap += p.log_density(&x).min(q.log_density(&x)).exp() * width * width;
            }
        }
        check(&p, &q, overlap, |x| x[0] + 0.5 * x[1]);
    }

    #[test]
    fn equal_laws_always_meet() {
        let law = GammaPrior::new(1e4, 3.0).unwrap();
        let mut rng = rng::stream(3, 0);
        assert!((0..1_000).all(|_| maximal(&law, &law.clone(), &mut rng).unwrap().2));
    }
}
