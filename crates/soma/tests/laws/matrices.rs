//! Theoretical transition matrices.

use nalgebra::{DMatrix, DVector};

use crate::kernels::{Law, Places};
use crate::toys::Toy;

/// One move: the transition matrix, and the probability of acceptance from each state.
pub struct Move {
    pub matrix: DMatrix<f64>,
    pub acceptance: DVector<f64>,
}

/// pi(x), normalised.
pub fn target(toy: &Toy) -> DVector<f64> {
    let mass = |state: usize| {
        let records = toy.decode(state);
        toy.eta(&records) * records.iter().map(|&c| toy.f[c]).product::<f64>()
    };
    let pi = DVector::from_iterator(toy.states(), (0..toy.states()).map(mass));
    let total = pi.sum();
    pi / total
}

/// A move that selects from `places`.
pub fn one_move(toy: &Toy, places: &Places) -> Move {
    let states = toy.states();
    let mut matrix = DMatrix::zeros(states, states);
    let mut acceptance = DVector::zeros(states);
    for from in 0..states {
        let x = toy.decode(from);
        let current = toy.eta(&x);
        for (y, proposed) in toy.f.iter().enumerate() {
            for (chance, among) in places {
                let replaced = |i: usize| {
                    let mut changed = x.clone();
                    changed[i] = y;
                    changed
                };
                let weights: Vec<f64> = among.iter().map(|&i| toy.eta(&replaced(i))).collect();
                let total: f64 = weights.iter().sum();
                for (&i, weight) in among.iter().zip(&weights) {
                    let accept = f64::min(1.0, total / (total + current - weight));
                    let flow = proposed * chance * weight / total * accept;
                    matrix[(from, toy.encode(&replaced(i)))] += flow;
                    acceptance[from] += flow;
                }
            }
        }
        matrix[(from, from)] += 1.0 - acceptance[from];
    }
    Move { matrix, acceptance }
}

/// The moves of one sweep, in order.
pub fn moves(toy: &Toy, law: &Law) -> Vec<Move> {
    (0..toy.n).map(|turn| one_move(toy, &(law.places)(toy.n, turn))).collect()
}

/// One sweep: the transition matrix, and the expected number of accepted proposals from each state.
pub fn sweep(toy: &Toy, law: &Law) -> Move {
    let states = toy.states();
    let mut matrix = DMatrix::identity(states, states);
    let mut acceptance = DVector::zeros(states);
    for one in moves(toy, law) {
        acceptance += &matrix * one.acceptance;
        matrix *= one.matrix;
    }
    Move { matrix, acceptance }
}

/// The largest violation of detailed balance.
pub fn imbalance(matrix: &DMatrix<f64>, pi: &DVector<f64>) -> f64 {
    let flow = DMatrix::from_diagonal(pi) * matrix;
    (&flow - flow.transpose()).amax()
}

/// The asymptotic variance of the mean of h over a chain with this matrix, in stationarity:
/// 2 h'D(I - P + 1 pi')^-1 h - h'Dh for centred h, where D is the diagonal of pi.
pub fn asymptotic_variance(matrix: &DMatrix<f64>, pi: &DVector<f64>, h: &DVector<f64>) -> f64 {
    let size = pi.len();
    let centred = h.add_scalar(-pi.dot(h));
    let projection = DVector::from_element(size, 1.0) * pi.transpose();
    let fundamental = DMatrix::identity(size, size) - matrix + projection;
    let solved = fundamental.lu().solve(&centred).unwrap();
    2.0 * pi.dot(&centred.component_mul(&solved)) - pi.dot(&centred.component_mul(&centred))
}
