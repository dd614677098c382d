//! The approximate time of a program per record.

use super::{Action, Program};
use crate::graph::{Binary, Draw, Unary};
use crate::special::Special;

impl Program {
    /// The approximate nanoseconds per record, summed over instructions: to a factor of about two,
    /// for choices between alternatives.
    pub fn nanoseconds(&self) -> f64 {
        self.rows.iter().map(|instruction| nanoseconds(instruction.action)).sum()
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
            Special::HalfNormalScore | Special::HalfNormalQuantile => 60.0,
            Special::ExponentialScore | Special::LaplaceScore | Special::LogitScore => 60.0,
            Special::GammaQuantile | Special::BetaQuantile | Special::StudentQuantile => 800.0,
            _ => 200.0,
        },
        _ => 0.4,
    }
}
