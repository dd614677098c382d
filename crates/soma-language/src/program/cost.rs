//! The approximate time of a program per record.

use super::{Action, BATCH, Instruction, Operand, Program, tables};
use crate::graph::{Binary, Draw, Unary};
use crate::special::Special;

/// Of an instruction: for each batch of records, or if it is done once.
const DECODED: f64 = 10.0;
const ONCE: f64 = 2.5;

/// Of a call.
const CALL: f64 = 40.0;

/// Of a table of beta quantiles.
const TABLE: f64 = 11_600.0;

impl Program {
    /// The approximate nanoseconds for each of `n` records, summed over instructions: to a factor of
    /// about two, for choices between alternatives.
    pub fn nanoseconds(&self, n: usize) -> f64 {
        let n = n.max(1);
        let batches = n.div_ceil(BATCH);
        let rows = self.rows.iter().map(|instruction| in_rows(instruction, n)).sum::<f64>();
        let once = self.theta.iter().chain(&self.totals);
        let once: f64 = once.map(|instruction| ONCE + nanoseconds(instruction.action)).sum();
        let each_batch = DECODED * self.rows.len() as f64 * batches as f64;
        rows + (CALL + once + each_batch) / n as f64
    }
}

/// The time of an instruction on columns for each of `n` records.
fn in_rows(instruction: &Instruction, n: usize) -> f64 {
    let is_same = |operand: &Operand| matches!(operand, Operand::Slot(_));
    match (instruction.action, instruction.args()) {
        (Action::Special(special), [shapes @ .., _])
            if tables::has_table(special, n.min(BATCH)) && shapes.iter().all(is_same) =>
        {
            let each = if special == Special::BetaQuantile { 30.0 } else { 85.0 };
            each + TABLE / n as f64
        }
        _ => nanoseconds(instruction.action),
    }
}

fn nanoseconds(action: Action) -> f64 {
    match action {
        Action::Unary(op) => match op {
            Unary::Neg | Unary::Abs | Unary::Floor | Unary::Sqrt => 0.4,
            Unary::LogGamma | Unary::Digamma | Unary::Trigamma => 20.0,
            Unary::NormalCdf | Unary::NormalLogCdf => 12.0,
            Unary::NormalQuantile => 60.0,
            _ => 3.0,
        },
        Action::Binary(Binary::Pow) => 15.0,
        Action::Draw(draw) => match draw {
            Draw::Uniform => 1.5,
            Draw::Normal | Draw::Exponential => 4.0,
            Draw::Gamma => 15.0,
            Draw::Beta | Draw::Poisson | Draw::Binomial => 40.0,
        },
        Action::Special(special) => match special {
            Special::PoissonQuantile => 30.0,
            Special::LogRising | Special::LogRisingSlope | Special::LogRisingCurve => 40.0,
            Special::HalfNormalScore | Special::HalfNormalQuantile => 60.0,
            Special::ExponentialScore | Special::LaplaceScore | Special::LogitScore => 60.0,
            Special::GammaQuantile | Special::BetaQuantile | Special::StudentQuantile => 800.0,
            _ => 200.0,
        },
        _ => 0.4,
    }
}
