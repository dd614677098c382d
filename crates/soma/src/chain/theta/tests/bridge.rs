//! The bridge update.

use super::texts::{jumping, surrogate, text_case};
use super::*;
use crate::chain::theta::bridge::Bridge;
use crate::chain::theta::bridge::path::{Law, Path};
use crate::chain::theta::coordinates::synthetic::Synthetic;

/// Smooth records, with more parameters than statistics, and as many.
fn smooth() -> [Case; 3] {
    [
        text_case(
            "m ~ normal(0, 1)\ns ~ gamma(4, 4)\nt ~ gamma(4, 4)",
            "x ~ normal(m, s)\ny ~ normal(x, t)",
            &["clamp(x, -3, 3)", "clamp(y, -3, 3) ^ 2"],
            1.5,
            9,
        ),
        text_case(
            "m ~ normal(0, 0.5)\ns ~ gamma(4, 8)",
            "x ~ log_normal(m, s)",
            &["clamp(x, 0, 4)"],
            0.1,
            3,
        ),
        text_case(
            "m ~ normal(0, 1)\ns ~ gamma(4, 4)",
            "x ~ normal(m, s)",
            &["clamp(x, -2, 2)", "clamp(x, -2, 2) ^ 2"],
            0.3,
            4,
        ),
    ]
}

const DRAWS: usize = 1000;

#[test]
fn bridges_keep_the_joint_law() {
    for (i, case) in jumping().iter().chain(&smooth()).enumerate() {
        let surrogate = surrogate(case);
        let mut made = Bridge::default();
        // With and without a density of theta, here from another release.
        for seed in [20, 30] {
            let (z, rate) =
                largest_change(case, Some(&surrogate), &mut made, DRAWS, seed + i as u64);
            assert!(z < MOST && rate > 0.1, "case {i}, {seed}: {z}, {rate}");
            let (problem, _) = case.draw(&mut rng::stream(1, 0));
            made.prepare(&Sums::new(&problem).unwrap()).unwrap();
        }
    }
}

/// Walks with the density of another release have the moments of the synthetic posterior, which are
/// known by quadrature.
#[test]
fn walks_keep_the_synthetic_posterior() {
    const BATCHES: usize = 40;
    const WALKS: u32 = 600;
    let [case, ..] = jumping();
    let surrogate = surrogate(&case);
    let mut rng = rng::stream(8, 0);
    let [(problem, _), (other, _)] = [0; 2].map(|_| case.draw(&mut rng));
    let sums = Sums::new(&problem).unwrap();
    let mut made = Bridge::default();
    made.prepare(&Sums::new(&other).unwrap()).unwrap();
    let (precisions, mut synthetic) = (sums.precisions(), Synthetic::default());
    let mut exact = [0.0; 3];
    for i in -2000..=2000 {
        let x = f64::from(i) * 0.01;
        let density = synthetic.log_posterior(&sums, &[x], &precisions).unwrap().exp();
        [1.0, x, x * x].iter().zip(&mut exact).for_each(|(f, sum)| *sum += f * density);
    }
    let guide = made.guide(&sums, &surrogate);
    let mut means = [[0.0; 2]; BATCHES];
    let mut free = vec![0.0];
    for batch in &mut means {
        for _ in 0..WALKS {
            assert!(guide.walk(&mut free, &precisions, &mut synthetic, &mut rng).unwrap());
            batch[0] += free[0] / f64::from(WALKS);
            batch[1] += free[0] * free[0] / f64::from(WALKS);
        }
    }
    assert_means(&means, &[exact[1] / exact[0], exact[2] / exact[0]]);
}

/// Several proposals in a step, each judged against the factors of the state that the one before has
/// left: moments of p under the posterior, which is known by enumeration of the number of ones. A
/// release near zero with little noise makes the factors vary much, since a normal law is far from
/// that of three records.
#[test]
fn bridges_one_after_the_other_keep_the_posterior() {
    const BATCHES: usize = 40;
    const STEPS: usize = 100;
    const TIMES: u64 = 16;
    let (n, scale) = (3, 0.1);
    let case = text_case("p ~ beta(0.5, 0.5)", "x ~ bernoulli(p)", &["x"], scale, n);
    let surrogate = surrogate(&case);
    let mut rng = rng::stream(5, 0);
    let (problem, mut state) = case.draw(&mut rng);
    // The residual is the value less the number of ones, in units of the scale.
    let ones: f64 = state.records.all().iter().sum();
    let value = ones + scale * state.records.residual()[0];
    // Given s ones, p is beta(0.5 + s, 0.5 + n - s).
    let mut exact = [0.0; 3];
    let mut share = 1.0;
    for s in 0..=n {
        let (s, left, n) = (s as f64, (n - s) as f64, n as f64);
        let weight = share * (-(value - s).abs() / scale).exp();
        let mean = (0.5 + s) / (1.0 + n);
        let terms = [1.0, mean, mean * (1.5 + s) / (2.0 + n)];
        exact.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
        share *= left * (0.5 + s) / ((s + 1.0) * (left - 0.5));
    }
    let at = Setting::new(&problem, Some(&surrogate));
    let (mut made, mut held) = (Bridge::default(), Held::default());
    let mut means = [[0.0; 2]; BATCHES];
    for batch in &mut means {
        for _ in 0..STEPS {
            made.step(&at, &mut state, &mut held, TIMES, &mut rng).unwrap();
            batch[0] += state.theta[0] / STEPS as f64;
            batch[1] += state.theta[0].powi(2) / STEPS as f64;
        }
    }
    assert_means(&means, &[exact[1] / exact[0], exact[2] / exact[0]]);
}

/// The means of batches, which hardly depend on each other, agree with the exact ones.
fn assert_means(means: &[[f64; 2]], exact: &[f64; 2]) {
    let batches = means.len() as f64;
    for (k, exact) in exact.iter().enumerate() {
        let mean = means.iter().map(|batch| batch[k]).sum::<f64>() / batches;
        let squares = means.iter().map(|batch| (batch[k] - mean).powi(2)).sum::<f64>();
        let error = (squares / (batches * (batches - 1.0))).sqrt();
        assert!((mean - exact).abs() < 4.5 * error, "{k}: {mean} +- {error}, {exact}");
    }
}

/// The same under a law that is neither Laplace nor Gaussian, so that the last factor is not 1.
#[test]
fn bridges_keep_the_joint_law_under_a_curve() {
    let [case, ..] = jumping();
    let case = Case { other_noise: Some(mixed::one_curve()), ..case };
    let surrogate = surrogate(&case);
    let (z, rate) = largest_change(&case, Some(&surrogate), &mut Bridge::default(), 4 * DRAWS, 1);
    assert!(z < MOST && rate > 0.1, "{z}, {rate}");
}

/// Bridges that are always accepted, or judged against the factors of a fresh path: the test of the
/// joint law detects both.
#[test]
fn wrong_factors_of_the_state_are_seen() {
    struct Wrong {
        made: Bridge,
        is_fresh: bool,
    }
    impl ThetaMove for Wrong {
        fn step(
            &mut self,
            at: &Setting,
            state: &mut State,
            _: &mut Held,
            _: u64,
            rng: &mut Rng,
        ) -> Outcome<Tally> {
            let (sums, surrogate) = (at.sums.as_ref().unwrap(), at.surrogate.unwrap());
            let Some(mut current) = self.made.begin(at, sums, state, rng)? else {
                return Ok(Tally::default());
            };
            if self.is_fresh {
                let (mut free, mut synthetic) = (vec![0.0; sums.p], Synthetic::default());
                sums.model.unconstrain(&state.theta, &mut free);
                let law = Law::new(&free, sums, &sums.precisions(), &mut synthetic)?.unwrap();
                let fresh = Path::default().follow(None, sums, &law, rng)?;
                current = fresh.unwrap_or(current);
            } else {
                current = f64::NEG_INFINITY;
            }
            let next = self.made.propose(at, sums, surrogate, state, current, rng)?;
            Ok(Tally { proposed: 1, accepted: next.is_some() as u64, work: 0 })
        }

        fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
            Ok(())
        }

        fn work(&self, _: &Setting, _: u64) -> u64 {
            0
        }
    }
    let [_, case, _] = jumping();
    let surrogate = surrogate(&case);
    for is_fresh in [false, true] {
        let mut wrong = Wrong { made: Bridge::default(), is_fresh };
        let (z, _) = largest_change(&case, Some(&surrogate), &mut wrong, 4 * DRAWS, 1);
        assert!(z > MOST, "{is_fresh}: {z}");
    }
}

/// The mean of h_0 times the factors of a path over fresh paths is the density of the release given
/// theta and the precisions: for Bernoulli records a sum over the number of ones.
#[test]
fn factors_estimate_the_likelihood_without_bias() {
    let [case, ..] = jumping();
    let mut rng = rng::stream(5, 0);
    let (problem, state) = case.draw(&mut rng);
    let sums = Sums::new(&problem).unwrap();
    let n = case.n as i32;
    // The residual of records that are all zero.
    let ones: f64 = state.records.all().iter().sum();
    let value = state.records.residual()[0] + ones;
    for (p, precision) in [(0.3_f64, 0.5), (0.8, 3.0), (0.1, 20.0)] {
        let mut chance = (1.0 - p).powi(n);
        let mut exact = 0.0;
        for s in 0..=n {
            exact += chance * (-0.5 * precision * (value - f64::from(s)).powi(2)).exp();
            chance *= p / (1.0 - p) * f64::from(n - s) / f64::from(s + 1);
        }
        let mut free = [0.0];
        sums.model.unconstrain(&[p], &mut free);
        let (mut synthetic, mut path) = (Synthetic::default(), Path::default());
        let log_posterior = synthetic.log_posterior(&sums, &free, &[precision]).unwrap();
        let log_start = log_posterior - sums.log_prior_theta(&free) - 0.5 * precision.ln();
        let law = Law::new(&free, &sums, &[precision], &mut synthetic).unwrap().unwrap();
        let draws = 20_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            let factors = path.follow(None, &sums, &law, &mut rng).unwrap();
            let estimate = factors.map_or(0.0, |factors| (log_start + factors).exp());
            sum += estimate;
            squares += estimate * estimate;
        }
        let mean = sum / f64::from(draws);
        let error = ((squares / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt();
        assert!((mean - exact).abs() < 4.5 * error, "{p}: {mean} +- {error}, {exact}");
        assert!(error < 0.1 * exact, "{p}: {mean} +- {error}");
    }
}
