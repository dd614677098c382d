//! Compiled programs: flat lists of instructions over columns of a batch of records.
//!
//! A program has four parts, run in this order: constants, which are stored in their slots; what
//! depends on theta alone, once; what depends on the record, over columns of [`BATCH`] records at a
//! time, with sums over them; and what depends on the sums, once. Every instruction writes a slot
//! (one number) or a column (one number per record of the batch) that it does not read. Other
//! backends translate this form too.

mod compile;
mod cost;
mod lanes;
mod random;
mod run;
mod scalar;
mod tables;

pub use random::{Quiet, Randomness};
pub use run::{Inputs, Workspace};

use crate::graph::{Binary, Draw, Input, Unary};
use crate::special::Special;

/// Records per batch.
pub const BATCH: usize = 256;

/// The location of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number that is the same for all records.
    Slot(u32),
    /// A number for each record of the batch.
    Column(u32),
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Reads an input: of theta into a slot, of the record into a column.
    Load(Input, u32),
    /// Draws random numbers; the arguments are those of the distribution.
    Draw(Draw),
    /// A function of one argument.
    Unary(Unary),
    /// A function of two arguments.
    Binary(Binary),
    /// a b + c
    MulAdd,
    /// c - a b
    SubMul,
    /// The second if the first is not 0, and otherwise the third.
    Select,
    /// A special function.
    Special(Special),
    /// Adds the sum of a column to a slot.
    Sum,
    /// Adds the sum of a product to a slot.
    SumProduct,
    /// The number of records.
    Count,
}

/// An instruction: `target` = `action`(`args`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instruction {
    /// What is done.
    pub action: Action,
    args: [Operand; 3],
    arity: u8,
    /// The slot or column that is written: a column in the part for records, except for sums.
    pub target: u32,
}

impl Instruction {
    /// The locations of the arguments.
    pub fn args(&self) -> &[Operand] {
        &self.args[..self.arity as usize]
    }
}

/// The row length of each kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Widths {
    /// Of a record.
    pub record: usize,
    /// Of its noise.
    pub noise: usize,
    /// Of what stands beside a row.
    pub beside_row: usize,
}

/// A compiled program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The initial values of slots.
    pub constants: Vec<(u32, f64)>,
    /// What is computed once, before the records.
    pub theta: Vec<Instruction>,
    /// What is computed for each batch of records.
    pub rows: Vec<Instruction>,
    /// What is computed once, after the records.
    pub totals: Vec<Instruction>,
    /// The slots of sums: 0 before the first batch.
    pub sums: Vec<u32>,
    /// The slots of what is computed once: the first output.
    pub outputs: Vec<u32>,
    /// What is computed for each record: the second output, row after row.
    pub row_outputs: Vec<Operand>,
    /// How many slots there are.
    pub slots: usize,
    /// How many columns there are.
    pub columns: usize,
    widths: Widths,
    theta_steps: Vec<scalar::Step>,
    totals_steps: Vec<scalar::Step>,
}
