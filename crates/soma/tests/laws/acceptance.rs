//! The paper's theorems on acceptance, on random states.

use std::sync::Arc;

use rand::RngExt;
use soma::Outcome;
use soma::kernel::{Batch, Proposals, Records, SingleKernel, SingleMoves};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::Mean;
use soma::release::{Aggregate, Release};
use soma::rng::{Rng, stream};
use soma::theory;

/// A state: records in [0, 1], a release of their sum, and the possible proposals.
struct State {
    records: Vec<f64>,
    proposals: Vec<f64>,
    release: Release,
}

impl State {
    fn random(rng: &mut Rng) -> Self {
        let n = rng.random_range(2..=12);
        let scale = 0.1 + 2.0 * rng.random::<f64>();
        let mut draw = |count: usize| -> Vec<f64> {
            (0..count).map(|_| rng.random::<f64>().powi(2)).collect()
        };
        let (records, proposals) = (draw(n), draw(6));
        let released = records.iter().sum::<f64>() + 2.0 * rng.random::<f64>() - 1.0;
        let query = Arc::new(Mean::new(vec![(0.0, 1.0)]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![scale]).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, n, vec![released]).unwrap();
        State { records, proposals, release }
    }

    /// w_0, and w_1 to w_n for a proposal.
    fn weights(&self, proposal: f64) -> (f64, Vec<f64>) {
        let (released, scale) = (self.release.sums()[0], self.release.sum_scales()[0]);
        let eta = |sum: f64| (-(released - sum).abs() / scale).exp();
        let sum: f64 = self.records.iter().sum();
        (eta(sum), self.records.iter().map(|x| eta(sum - x + proposal)).collect())
    }
}

fn soma_acceptance(current: f64, weights: &[f64], i: usize) -> f64 {
    let total: f64 = weights.iter().sum();
    f64::min(1.0, total / (total + current - weights[i]))
}

/// The acceptance probabilities of SOMA and Ran-IMwG, given a proposal.
fn given_proposal(current: f64, weights: &[f64]) -> (f64, f64) {
    let (n, total) = (weights.len(), weights.iter().sum::<f64>());
    let soma = (0..n).map(|i| weights[i] / total * soma_acceptance(current, weights, i)).sum();
    let ran = weights.iter().map(|w| f64::min(1.0, w / current)).sum::<f64>() / n as f64;
    (soma, ran)
}

#[test]
fn theorems_hold_on_random_states() {
    let mut rng = stream(21, 0);
    for _ in 0..20_000 {
        let state = State::random(&mut rng);
        let n = state.records.len();
        let epsilon = theory::epsilon(&state.release).unwrap();
        for &proposal in &state.proposals {
            let (current, weights) = state.weights(proposal);
            for (i, weight) in weights.iter().enumerate() {
                let imwg = f64::min(1.0, weight / current);
                assert!(soma_acceptance(current, &weights, i) >= imwg - 1e-15);
                assert!(imwg >= theory::imwg_acceptance(epsilon) - 1e-15);
            }
            let (soma, ran) = given_proposal(current, &weights);
            assert!(soma >= ran - 1e-14);
            assert!(soma >= theory::soma_acceptance(n, epsilon) - 1e-14);
            assert!(ran >= theory::imwg_acceptance(epsilon) - 1e-14);
        }
    }
}

struct FewProposals<'a>(&'a State);

impl Proposals for FewProposals<'_> {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, 1, 1);
        let scale = self.0.release.sum_scales()[0];
        let (records, statistics) = batch.parts_mut();
        for (x, t) in records.iter_mut().zip(statistics) {
            *x = self.0.proposals[rng.random_range(0..self.0.proposals.len())];
            *t = *x / scale;
        }
        Ok(())
    }
}

/// Single moves from a state accept with the theoretical probability.
#[test]
fn moves_accept_as_often_as_they_should() {
    let mut rng = stream(22, 0);
    for _ in 0..40 {
        let state = State::random(&mut rng);
        let potential = state.release.potential();
        let each: Vec<(f64, f64)> = state
            .proposals
            .iter()
            .map(|&proposal| state.weights(proposal))
            .map(|(current, weights)| given_proposal(current, &weights))
            .collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let cases = [
            (SingleKernel::Soma, mean(each.iter().map(|pair| pair.0).collect())),
            (SingleKernel::RanImwg, mean(each.iter().map(|pair| pair.1).collect())),
        ];
        for (kernel, expected) in cases {
            let trials = 4000;
            let mut taken = 0.0;
            for _ in 0..trials {
                let mut records = Records::new(&state.release, state.records.clone()).unwrap();
                let mut moves = SingleMoves::new(kernel);
                let proposals = &mut FewProposals(&state);
                let one = moves.advance(&mut records, proposals, potential, &mut rng).unwrap();
                taken += f64::from(u8::from(one));
            }
            let rate = taken / f64::from(trials);
            let error = (expected * (1.0 - expected) / f64::from(trials)).sqrt() + 1e-9;
            assert!((rate - expected).abs() < 5.0 * error, "{kernel:?}: {rate} {expected}");
        }
    }
}
