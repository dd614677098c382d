//! Compiled programs of the language of models as C++ text.
//!
//! A slot is `s4` (or another letter), a column `c2`. What depends on theta alone is in double precision; the part for each
//! record is in the precision that its user asks for. Constants stand where they are used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use soma::Invalid;
use soma_language::graph::{Binary, Draw, Input, Unary};
use soma_language::program::{Action, Instruction, Operand, Program};
use soma_language::special::Special;

use super::model::number;
use super::unfit;

/// The precision of the part for each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Single,
    Double,
}

/// The random numbers that a record is made of, by their kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Standard normals.
    pub normals: usize,
    /// Uniforms on (0, 1).
    pub uniforms: usize,
    /// Draws that take as many random words as they need.
    pub rejecting: usize,
}

/// A program as text.
#[derive(Debug)]
pub(super) struct Translation<'a> {
    program: &'a Program,
    constants: BTreeMap<u32, f64>,
    precision: Precision,
    /// The number of records.
    count: &'a str,
    /// The letter of slots.
    letter: char,
    /// What stands before a slot in the part for each record: `d.` where slots are fields.
    owner: &'a str,
    /// The field of an error, for functions that the GPU does not have.
    field: &'a str,
    /// The random numbers of the part for each record.
    pub drawn: Drawn,
}

impl<'a> Translation<'a> {
    /// Of `program`, which belongs to `field` of a spec.
    pub(super) fn new(program: &'a Program, precision: Precision, field: &'a str) -> Self {
        let constants = program.constants.iter().copied().collect();
        Translation {
            program,
            constants,
            precision,
            count: "RECORDS",
            letter: 's',
            owner: "",
            field,
            drawn: Drawn::default(),
        }
    }

    /// With slots that are fields of `owner` in the part for each record, and begin with `letter`.
    pub(super) fn owned_by(self, owner: &'a str, letter: char) -> Self {
        Translation { owner, letter, ..self }
    }

    /// With another number of records.
    pub(super) fn with_count(self, count: &'a str) -> Self {
        Translation { count, ..self }
    }

    /// The type of numbers in the part for each record.
    pub(super) fn kind(&self) -> &'static str {
        match self.precision {
            Precision::Single => "float",
            Precision::Double => "double",
        }
    }

    /// The slots that the part for each record reads, as `float s4; ` and as `  d.s4 = (float)s4;` line by line.
    pub(super) fn fields(&self) -> (String, String) {
        let (letter, kind) = (self.letter, self.kind());
        let slots = self.shared_slots();
        let fields = slots.iter().map(|slot| format!("{kind} {letter}{slot}; ")).collect();
        let set =
            slots.iter().map(|slot| format!("  d.{letter}{slot} = ({kind}){letter}{slot};\n"));
        (fields, set.collect())
    }

    /// The slots that the part for each record reads and that are no constants.
    fn shared_slots(&self) -> BTreeSet<u32> {
        let arguments = self.program.rows.iter().flat_map(|row| row.args().iter().copied());
        let all = arguments.chain(self.program.row_outputs.iter().copied());
        let slot = |operand: Operand| match operand {
            Operand::Slot(slot) if !self.constants.contains_key(&slot) => Some(slot),
            _ => None,
        };
        all.filter_map(slot).collect()
    }

    /// What depends on theta alone: `double s4 = ...;` line by line.
    pub(super) fn theta(&self) -> Result<String, Invalid> {
        self.once(&self.program.theta)
    }

    /// What is computed after the sums over the records.
    pub(super) fn totals(&self) -> Result<String, Invalid> {
        self.once(&self.program.totals)
    }

    fn once(&self, instructions: &[Instruction]) -> Result<String, Invalid> {
        let mut text = String::new();
        for instruction in instructions {
            let args: Vec<String> = instruction.args().iter().map(|o| self.slot(*o)).collect();
            let value = match instruction.action {
                Action::Draw(_) => return Err(self.lacks("a random number of theta")),
                action => self.value(action, &args, Precision::Double)?,
            };
            let _ = writeln!(text, "  double {}{} = {value};", self.letter, instruction.target);
        }
        Ok(text)
    }

    /// The sums, at 0.
    pub(super) fn sums(&self) -> String {
        self.program.sums.iter().map(|slot| format!("  double s{slot} = 0.0;\n")).collect()
    }

    /// The sums over all lanes of a chain.
    pub(super) fn joined_sums(&self) -> String {
        let join = |slot: &u32| format!("  s{slot} = sum_of_lanes(s{slot});\n");
        self.program.sums.iter().map(join).collect()
    }

    /// The part for each record, with its columns declared. Counts the random numbers.
    pub(super) fn rows(&mut self) -> Result<String, Invalid> {
        let kind = self.kind();
        let mut text = String::new();
        if self.program.columns > 0 {
            let all: Vec<String> = (0..self.program.columns).map(|c| format!("c{c}")).collect();
            let _ = writeln!(text, "    {kind} {};", all.join(", "));
        }
        for instruction in &self.program.rows {
            let args: Vec<String> = instruction.args().iter().map(|o| self.operand(*o)).collect();
            let target = instruction.target;
            let _ = match instruction.action {
                Action::Sum => writeln!(text, "    s{target} += {};", args[0]),
                Action::SumProduct => writeln!(text, "    s{target} += {} * {};", args[0], args[1]),
                Action::Draw(draw) => writeln!(text, "    c{target} = {};", self.draw(draw, &args)),
                action => {
                    writeln!(
                        text,
                        "    c{target} = {};",
                        self.value(action, &args, self.precision)?
                    )
                }
            };
        }
        Ok(text)
    }

    fn draw(&mut self, draw: Draw, args: &[String]) -> String {
        let mut next = |count: fn(&mut Drawn) -> &mut usize| {
            let count = count(&mut self.drawn);
            *count += 1;
            *count - 1
        };
        let mut with = |name: &str| {
            let which = next(|drawn| &mut drawn.rejecting);
            format!("{name}({}, dice_of(dice, {which}))", args.join(", "))
        };
        match draw {
            Draw::Gamma => with("draw_gamma"),
            Draw::Beta => with("draw_beta"),
            Draw::Poisson => with("draw_poisson"),
            Draw::Binomial => with("draw_binomial"),
            Draw::Normal => format!("normals[{}]", next(|drawn| &mut drawn.normals)),
            Draw::Uniform => format!("uniforms[{}]", next(|drawn| &mut drawn.uniforms)),
            Draw::Exponential => {
                format!("-0.6931472f * __log2f(uniforms[{}])", next(|drawn| &mut drawn.uniforms))
            }
        }
    }

    /// What is computed once: `out[0] = s4;` line by line.
    pub(super) fn outputs(&self, out: &str) -> String {
        let each = self.program.outputs.iter().enumerate();
        let line = |(k, slot): (usize, &u32)| {
            format!("  {out}[{k}] = {};\n", self.slot(Operand::Slot(*slot)))
        };
        each.map(line).collect()
    }

    /// The values of a record.
    pub(super) fn row_outputs(&self) -> Vec<String> {
        self.program.row_outputs.iter().map(|operand| self.operand(*operand)).collect()
    }

    /// An operand of what is computed once.
    fn slot(&self, operand: Operand) -> String {
        match operand {
            Operand::Slot(slot) => match self.constants.get(&slot) {
                Some(&value) => literal(value, Precision::Double),
                None => format!("{}{slot}", self.letter),
            },
            Operand::Column(column) => unreachable!("column {column} is one for each record"),
        }
    }

    /// An operand of the part for each record.
    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Slot(slot) => match (self.constants.get(&slot), self.precision) {
                (Some(&value), precision) => literal(value, precision),
                (None, _) => format!("{}{}{slot}", self.owner, self.letter),
            },
            Operand::Column(column) => format!("c{column}"),
        }
    }

    fn value(&self, action: Action, a: &[String], precision: Precision) -> Result<String, Invalid> {
        let (one, zero) = (literal(1.0, precision), literal(0.0, precision));
        Ok(match action {
            Action::Load(input, place) => match input {
                Input::Theta => format!("theta[{place}]"),
                Input::Free => format!("free[{place}]"),
                Input::Record => format!("record[{place}]"),
                Input::Noise => format!("noise[{place}]"),
                Input::Beside | Input::BesideRow => {
                    return Err(self.lacks("derivatives along a direction"));
                }
            },
            Action::Unary(op) => self.unary(op, &a[0], precision)?,
            Action::Binary(op) => {
                let (a, b) = (&a[0], &a[1]);
                match op {
                    Binary::Add => format!("{a} + {b}"),
                    Binary::Sub => format!("{a} - {b}"),
                    Binary::Mul => format!("{a} * {b}"),
                    Binary::Div => format!("{a} / {b}"),
                    Binary::Pow => call("pow", &[a, b], precision),
                    Binary::Min => call("fmin", &[a, b], precision),
                    Binary::Max => call("fmax", &[a, b], precision),
                    Binary::Lt => format!("{a} < {b} ? {one} : {zero}"),
                    Binary::Le => format!("{a} <= {b} ? {one} : {zero}"),
                    Binary::Eq => format!("{a} == {b} ? {one} : {zero}"),
                }
            }
            Action::MulAdd => call("fma", &[&a[0], &a[1], &a[2]], precision),
            Action::SubMul => format!("{} - {} * {}", a[2], a[0], a[1]),
            Action::Select => format!("{} != {zero} ? {} : {}", a[0], a[1], a[2]),
            Action::Count => format!("({one} * {})", self.count),
            Action::Special(special) => match (own_name(special), precision) {
                (Some(name), Precision::Double) => format!("{name}({})", a.join(", ")),
                _ => return Err(self.lacks(&format!("{special:?}"))),
            },
            Action::Sum | Action::SumProduct | Action::Draw(_) => {
                unreachable!("sums and draws are written by their callers")
            }
        })
    }

    fn unary(&self, op: Unary, a: &str, precision: Precision) -> Result<String, Invalid> {
        let plain = |name: &str| Ok(call(name, &[a], precision));
        // These are overloaded by the helper functions of the text.
        let own = |name: &str| Ok(format!("{name}({a})"));
        match op {
            Unary::Neg => Ok(format!("-({a})")),
            Unary::Exp => plain("exp"),
            Unary::Log => plain("log"),
            Unary::Sqrt => plain("sqrt"),
            Unary::Abs => plain("fabs"),
            Unary::Floor => plain("floor"),
            Unary::Log1p => plain("log1p"),
            Unary::Expm1 => plain("expm1"),
            Unary::Tanh => plain("tanh"),
            Unary::LogGamma => plain("lgamma"),
            Unary::Sin => plain("sin"),
            Unary::Cos => plain("cos"),
            Unary::Logistic => own("logistic"),
            Unary::Softplus => own("softplus"),
            Unary::Digamma => own("digamma"),
            Unary::Trigamma => own("trigamma"),
            Unary::NormalCdf => own("normal_cdf"),
            Unary::NormalLogCdf if precision == Precision::Double => own("normal_log_cdf"),
            Unary::NormalQuantile if precision == Precision::Double => own("normcdfinv"),
            Unary::NormalLogCdf => Err(self.lacks("normal_log_cdf")),
            Unary::NormalQuantile => Err(self.lacks("normal_quantile")),
        }
    }

    /// Whether it needs `text/shape_quantiles.cu`.
    pub(super) fn has_shapes(&self) -> bool {
        let of_shapes = |instruction: &Instruction| match instruction.action {
            Action::Special(special) => own_name_of_shapes(special).is_some(),
            _ => false,
        };
        self.program.theta.iter().chain(&self.program.rows).any(of_shapes)
    }

    fn lacks(&self, what: &str) -> Invalid {
        unfit(self.field, what, "a text without it")
    }
}

/// The function of `text/quantiles.cu` that computes a special function, if there is one.
fn own_name(special: Special) -> Option<&'static str> {
    use Special::*;
    Some(match special {
        HalfNormalScore => "half_normal_score",
        HalfNormalQuantile => "half_normal_quantile",
        ExponentialScore => "exponential_score",
        LaplaceScore => "laplace_score",
        LogitScore => "logit_score",
        PoissonCdf => "poisson_cdf",
        PoissonQuantile => "poisson_quantile",
        BinomialCdf => "binomial_cdf",
        BinomialQuantile => "binomial_quantile",
        NegativeBinomialCdf => "negative_binomial_cdf",
        NegativeBinomialQuantile => "negative_binomial_quantile",
        // These are in `text/functions.cu`.
        LogRising => "log_rising",
        LogRisingSlope => "log_rising_slope",
        LogRisingCurve => "log_rising_curve",
        other => return own_name_of_shapes(other),
    })
}

/// The same for those of `text/shape_quantiles.cu`.
fn own_name_of_shapes(special: Special) -> Option<&'static str> {
    use Special::*;
    Some(match special {
        GammaScore => "gamma_score",
        GammaQuantile => "gamma_quantile",
        BetaScore => "beta_score",
        BetaQuantile => "beta_quantile",
        StudentScore => "student_score",
        StudentQuantile => "student_quantile",
        _ => return None,
    })
}

/// A call of a function of the C library in a precision.
fn call(name: &str, args: &[&str], precision: Precision) -> String {
    let suffix = if precision == Precision::Single { "f" } else { "" };
    format!("{name}{suffix}({})", args.join(", "))
}

/// A constant. Negative ones are in brackets.
pub(super) fn literal(value: f64, precision: Precision) -> String {
    let (value, suffix) = match precision {
        Precision::Single => (f64::from(value as f32), "f"),
        Precision::Double => (value, ""),
    };
    match value {
        v if v.is_nan() => format!("(0.0{suffix} / 0.0{suffix})"),
        v if v == f64::INFINITY => format!("(1.0{suffix} / 0.0{suffix})"),
        v if v == f64::NEG_INFINITY => format!("(-1.0{suffix} / 0.0{suffix})"),
        v if v < 0.0 || v.is_sign_negative() => format!("({}{suffix})", number(v)),
        v => format!("{}{suffix}", number(v)),
    }
}
