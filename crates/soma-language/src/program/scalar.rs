//! Instructions on slots, decoded once.

use super::{Action, Instruction, Operand};
use crate::graph::{Binary, Unary};

/// An instruction on slots in a form that is quick to run: arithmetic on parameters is short, so that
/// decoding would take most of the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    kind: Kind,
    args: [u32; 3],
    target: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Sqrt,
    Select,
    /// Left to the interpreter of whole instructions.
    Other,
}

impl Step {
    /// The steps of instructions on slots, one for each.
    pub(super) fn decode(instructions: &[Instruction]) -> Vec<Step> {
        instructions.iter().map(Step::of).collect()
    }

    fn of(instruction: &Instruction) -> Step {
        let slot = |operand: Operand| match operand {
            Operand::Slot(slot) => Some(slot),
            Operand::Column(_) => None,
        };
        let kind = match instruction.action {
            Action::Binary(Binary::Add) => Kind::Add,
            Action::Binary(Binary::Sub) => Kind::Sub,
            Action::Binary(Binary::Mul) => Kind::Mul,
            Action::Binary(Binary::Div) => Kind::Div,
            Action::Unary(Unary::Neg) => Kind::Neg,
            Action::Unary(Unary::Sqrt) => Kind::Sqrt,
            Action::Select => Kind::Select,
            _ => Kind::Other,
        };
        let [a, b, c] = instruction.args.map(slot);
        let (kind, args) = match (a, b, c) {
            (Some(a), Some(b), Some(c)) => (kind, [a, b, c]),
            _ => (Kind::Other, [0; 3]),
        };
        Step { kind, args, target: instruction.target }
    }
}

/// Runs the steps in order. Those that were not decoded are the `others`: a number for the place of the
/// instruction and the slots, if it gives one.
#[inline(always)]
pub(super) fn run(
    steps: &[Step],
    slots: &mut [f64],
    mut others: impl FnMut(usize, &[f64]) -> Option<f64>,
) {
    for (place, step) in steps.iter().enumerate() {
        let [a, b, c] = step.args.map(|slot| slot as usize);
        let value = match step.kind {
            Kind::Add => slots[a] + slots[b],
            Kind::Sub => slots[a] - slots[b],
            Kind::Mul => slots[a] * slots[b],
            Kind::Div => slots[a] / slots[b],
            Kind::Neg => -slots[a],
            Kind::Sqrt => slots[a].sqrt(),
            Kind::Select => slots[if slots[a] != 0.0 { b } else { c }],
            Kind::Other => match others(place, slots) {
                Some(value) => value,
                None => continue,
            },
        };
        slots[step.target as usize] = value;
    }
}
