//! A log-linear model of a cross-table.

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::counts::shares::CellModel;
use crate::counts::table::Table;
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// ln p of a cell is a sum of effects, minus a normalising constant. A term is a set of factors,
/// and has an effect for each combination of their levels: one factor gives main effects, two an
/// interaction. Effects are N(0, sd^2), independent, with one sd per term. There is no baseline
/// level: the prior makes the effects proper and is symmetric in the levels.
#[derive(Debug, Clone)]
pub struct LogLinear {
    names: Vec<String>,
    sds: Vec<f64>,
    /// The effects of each cell, one per term.
    effects: Vec<u32>,
    terms: usize,
    /// The effects of main terms, with their numbers of cells.
    main: Vec<Option<f64>>,
}

impl LogLinear {
    /// The model of `table` with `terms`, each a set of factors and the sd of its effects.
    pub fn new(table: &Table, terms: &[(Vec<usize>, f64)]) -> Result<Self, Invalid> {
        if terms.is_empty() {
            let allowed = "at least one set of factors";
            return Err(Invalid::new("terms", "must not be empty", "none", allowed));
        }
        let (mut names, mut sds, mut main) = (Vec::new(), Vec::new(), Vec::new());
        let mut effects = vec![0; table.cells() * terms.len()];
        for (t, (factors, sd)) in terms.iter().enumerate() {
            positive(&format!("terms[{t}].sd"), *sd)?;
            let margin = table.margin(factors).map_err(|e| e.under(&format!("terms[{t}]")))?;
            if factors.is_empty() {
                let allowed = "at least one factor a term";
                return Err(Invalid::new(format!("terms[{t}]"), "is constant", "none", allowed));
            }
            let factor: Vec<String> = factors.iter().map(|f| f.to_string()).collect();
            for sum in margin {
                for &cell in &sum.cells {
                    effects[cell * terms.len() + t] = names.len() as u32;
                }
                names.push(format!("effect[{}:{}]", factor.join(","), sum.label));
                sds.push(*sd);
                main.push((factors.len() == 1).then_some(sum.cells.len() as f64));
            }
        }
        Ok(LogLinear { names, sds, effects, terms: terms.len(), main })
    }

    /// The approximate sd of each effect given counts of the cells.
    pub(crate) fn spreads(&self, counts: &[f64]) -> Vec<f64> {
        let mut precisions: Vec<f64> = self.sds.iter().map(|sd| 1.0 / (sd * sd)).collect();
        for (count, effects) in counts.iter().zip(self.effects.chunks_exact(self.terms)) {
            effects.iter().for_each(|&effect| precisions[effect as usize] += count);
        }
        precisions.into_iter().map(|precision| precision.sqrt().recip()).collect()
    }
}

impl CellModel for LogLinear {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        theta.to_vec()
    }

    fn dim(&self) -> usize {
        self.names.len()
    }

    fn cells(&self) -> usize {
        self.effects.len() / self.terms
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        -0.5 * theta.iter().zip(&self.sds).map(|(x, sd)| (x / sd) * (x / sd)).sum::<f64>()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        for (x, sd) in theta.iter_mut().zip(&self.sds) {
            let z: f64 = rng.sample(StandardNormal);
            *x = sd * z;
        }
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        for (log, effects) in out.iter_mut().zip(self.effects.chunks_exact(self.terms)) {
            *log = effects.iter().map(|&effect| theta[effect as usize]).sum();
        }
        let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = out.iter().map(|log| (log - most).exp()).sum();
        let constant = most + sum.ln();
        out.iter_mut().for_each(|log| *log -= constant);
    }

    fn effects(&self) -> Option<(&[f64], &[u32])> {
        Some((&self.sds, &self.effects))
    }

    fn shows_shares(&self) -> bool {
        true
    }

    /// Main effects from the margins of the shares, interactions at 0, both perturbed.
    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let mut sums = vec![0.0; theta.len()];
        for (share, effects) in shares.iter().zip(self.effects.chunks_exact(self.terms)) {
            effects.iter().for_each(|&effect| sums[effect as usize] += share);
        }
        let cells = shares.len() as f64;
        for j in 0..theta.len() {
            let z: f64 = rng.sample(StandardNormal);
            let size = self.main[j].map_or(0.0, |of| (sums[j] * cells / of).max(1e-3).ln());
            theta[j] = size.clamp(-3.0 * self.sds[j], 3.0 * self.sds[j]) + 0.1 * self.sds[j] * z;
        }
    }
}
