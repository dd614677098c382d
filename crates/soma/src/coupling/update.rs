//! Coupled updates of theta.

use rand::RngExt;

use crate::error::Outcome;
use crate::model::Model;
use crate::rng::{self, Rng};

/// Updates theta in both chains of a pair.
///
/// A model without its own coupling gets common random numbers in both chains. If its update is an
/// exact draw, equal records then give equal thetas. Otherwise the two may converge without ever
/// being equal, and the pair is reported as unmet.
pub fn update_pair(
    model: &dyn Model,
    [first, second]: [&mut [f64]; 2],
    records: [&[f64]; 2],
    rng: &mut Rng,
) -> Outcome {
    if let Some(coupled) = model.coupled() {
        return coupled.update_pair([first, second], records, rng);
    }
    // A separate stream for each update: random numbers used by only one chain must not be drawn
    // again for both.
    let seed = rng.random();
    model.update(first, records[0], &mut rng::stream(seed, 0))?;
    model.update(second, records[1], &mut rng::stream(seed, 0))
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::model::testing::{assert_follows, normal_cdf};

    /// theta is normal around the mean of the records; records other than zero consume one more
    /// number.
    #[derive(Debug)]
    struct Uneven;

    impl Model for Uneven {
        fn kind(&self) -> &'static str {
            "uneven"
        }

        fn record_dim(&self) -> usize {
            1
        }

        fn parameters(&self) -> Vec<String> {
            vec!["mean".into()]
        }

        fn sample_prior(&self, _: &mut [f64], _: &mut Rng) -> Outcome {
            unreachable!("only updates are made")
        }

        fn log_prior(&self, _: &[f64]) -> Outcome<f64> {
            unreachable!("only updates are made")
        }

        fn propose(&self, _: &[f64], _: &mut [f64], _: &mut Rng) -> Outcome {
            unreachable!("only updates are made")
        }

        fn log_density(&self, _: &[f64], _: &[f64]) -> Outcome<f64> {
            unreachable!("only updates are made")
        }

        fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
            let mean = records.iter().sum::<f64>() / records.len() as f64;
            for _ in records.iter().filter(|x| **x != 0.0) {
                let _: f64 = rng.random();
            }
            let noise: f64 = StandardNormal.sample(rng);
            theta[0] = mean + noise;
            Ok(())
        }
    }

    /// Without a coupling of the model, chains with equal records stay equal, and each chain
    /// follows its own conditional in every update.
    #[test]
    fn models_without_a_coupling_share_their_numbers() {
        let mut rng = rng::stream(61, 0);
        let (mut first, mut second) = ([0.0], [5.0]);
        for _ in 0..100 {
            let records = [&[1.0, 0.0, 2.0][..]; 2];
            update_pair(&Uneven, [&mut first, &mut second], records, &mut rng).unwrap();
            assert_eq!(first, second);
        }
        let records: [&[f64]; 2] = [&[0.0, 0.0], &[1.0, 3.0]];
        let mut sides = [Vec::new(), Vec::new()];
        let mut steps = [Vec::new(), Vec::new()];
        for _ in 0..20_000 {
            let before = [first[0], second[0]];
            update_pair(&Uneven, [&mut first, &mut second], records, &mut rng).unwrap();
            for (side, now) in [first[0], second[0]].into_iter().enumerate() {
                sides[side].push(now - 2.0 * side as f64);
                // Increments of successive updates are independent too.
                steps[side].push((now - before[side]) / std::f64::consts::SQRT_2);
            }
        }
        for side in 0..2 {
            assert_follows("theta", &mut sides[side], normal_cdf);
            let mut every_other: Vec<f64> =
                steps[side].iter().copied().skip(1).step_by(2).collect();
            assert_follows("its steps", &mut every_other, normal_cdf);
        }
    }
}
