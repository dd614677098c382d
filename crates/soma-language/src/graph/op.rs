//! The operations of a program.

use crate::special::{self, Special};

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// -a
    Neg,
    /// e^a
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// |a|
    Abs,
    /// The largest whole number that is at most a.
    Floor,
    /// log(1 + a)
    Log1p,
    /// e^a - 1
    Expm1,
    /// Hyperbolic tangent.
    Tanh,
    /// 1 / (1 + e^-a)
    Logistic,
    /// log(1 + e^a)
    Softplus,
    /// log of the gamma function.
    LogGamma,
    /// Derivative of [`LogGamma`](Unary::LogGamma).
    Digamma,
    /// Derivative of [`Digamma`](Unary::Digamma).
    Trigamma,
    /// Distribution function of the standard normal.
    NormalCdf,
    /// Its logarithm, to full precision in the lower tail.
    NormalLogCdf,
    /// Its inverse.
    NormalQuantile,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
}

impl Unary {
    /// The value at `a`.
    #[inline(always)]
    pub fn evaluate(self, a: f64) -> f64 {
        match self {
            Unary::Neg => -a,
            Unary::Exp => special::exp(a),
            Unary::Log => special::log(a),
            Unary::Sqrt => a.sqrt(),
            Unary::Abs => a.abs(),
            Unary::Floor => a.floor(),
            Unary::Log1p => special::log1p(a),
            Unary::Expm1 => a.exp_m1(),
            Unary::Tanh => a.tanh(),
            Unary::Logistic => special::logistic(a),
            Unary::Softplus => special::softplus(a),
            Unary::LogGamma => special::log_gamma(a),
            Unary::Digamma => special::digamma(a),
            Unary::Trigamma => special::trigamma(a),
            Unary::NormalCdf => special::normal_cdf(a),
            Unary::NormalLogCdf => special::normal_log_cdf(a),
            Unary::NormalQuantile => special::normal_quantile(a),
            Unary::Sin => a.sin(),
            Unary::Cos => a.cos(),
        }
    }
}

/// A function of two numbers. Comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a b
    Mul,
    /// a / b
    Div,
    /// a to the power of b
    Pow,
    /// The smaller; the second, if the first is not a number.
    Min,
    /// The larger; the second, if the first is not a number.
    Max,
    /// a < b
    Lt,
    /// a <= b
    Le,
    /// a == b
    Eq,
}

impl Binary {
    /// The value at `a`, `b`.
    #[inline(always)]
    pub fn evaluate(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => a.powf(b),
            Binary::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            Binary::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
            Binary::Lt => {
                if a < b {
                    1.0
                } else {
                    0.0
                }
            }
            Binary::Le => {
                if a <= b {
                    1.0
                } else {
                    0.0
                }
            }
            Binary::Eq => {
                if a == b {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Input {
    /// A parameter, in the user's parametrisation.
    Theta,
    /// An unconstrained parameter.
    Free,
    /// One number for each parameter: a tangent, a cotangent or a second theta.
    Beside,
    /// A coordinate of a record.
    Record,
    /// A coordinate of the noise that a record is made from.
    Noise,
    /// One number for each coordinate of a record or of its noise: a tangent or a cotangent.
    BesideRow,
}

impl Input {
    /// Whether there is one for each record.
    pub fn is_row(self) -> bool {
        matches!(self, Input::Record | Input::Noise | Input::BesideRow)
    }
}

/// Random numbers that a program draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Draw {
    /// Standard normal.
    Normal,
    /// Uniform on (0, 1).
    Uniform,
    /// Exponential of rate 1.
    Exponential,
    /// Gamma of a shape and rate 1.
    Gamma,
    /// Beta of two shapes.
    Beta,
    /// Poisson of a mean.
    Poisson,
    /// Binomial of a number of trials and a probability.
    Binomial,
}

/// The operation of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant, as the bits of a double.
    Constant(u64),
    /// A number from outside, by its place.
    Input(Input, u32),
    /// A random number; its index distinguishes draws. Per record if the flag is set.
    Draw(Draw, u32, bool),
    /// A function of one number.
    Unary(Unary),
    /// A function of two numbers.
    Binary(Binary),
    /// The second number if the first is not 0, and otherwise the third.
    Select,
    /// A special function of up to three numbers.
    Special(Special),
    /// The sum over all records.
    Sum,
    /// The number of records.
    Count,
}
