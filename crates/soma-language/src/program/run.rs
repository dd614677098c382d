//! The interpreter of programs.

use std::ops::Range;

use super::lanes::{Each, Same, map1, map2, map3, sum};
use super::scalar::{self, Step};
use super::tables::{self, Tables};
use super::{Action, BATCH, Instruction, Operand, Program, Quiet, Randomness};
use crate::graph::{Binary, Input, Unary};

/// The inputs of a program: vectors of theta, and rows of records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs<'a> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The unconstrained parameters.
    pub free: &'a [f64],
    /// What stands beside the parameters.
    pub beside: &'a [f64],
    /// The records.
    pub records: &'a [f64],
    /// Their noise.
    pub noise: &'a [f64],
    /// What stands beside the rows.
    pub beside_rows: &'a [f64],
}

impl<'a> Inputs<'a> {
    fn get(&self, input: Input) -> &'a [f64] {
        match input {
            Input::Theta => self.theta,
            Input::Free => self.free,
            Input::Beside => self.beside,
            Input::Record => self.records,
            Input::Noise => self.noise,
            Input::BesideRow => self.beside_rows,
        }
    }
}

/// Buffers of programs. They grow to the size that the largest program needs and are then reused.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    pub(super) slots: Vec<f64>,
    // Boxed, so that columns do not move when others are added.
    #[allow(clippy::vec_box)]
    pub(super) columns: Vec<Box<[f64; BATCH]>>,
    pub(super) tables: Tables,
}

impl Workspace {
    /// An empty one.
    pub fn new() -> Self {
        Workspace::default()
    }

    fn prepare(&mut self, program: &Program) {
        if self.slots.len() < program.slots {
            self.slots.resize(program.slots, 0.0);
        }
        // One spare column, to swap with the one that is written.
        while self.columns.len() < program.columns + 1 {
            self.columns.push(Box::new([0.0; BATCH]));
        }
        program.constants.iter().for_each(|&(slot, value)| self.slots[slot as usize] = value);
        program.sums.iter().for_each(|&slot| self.slots[slot as usize] = 0.0);
    }
}

impl Program {
    /// Runs a program that draws nothing over `n` records.
    pub fn run(
        &self,
        inputs: Inputs<'_>,
        n: usize,
        workspace: &mut Workspace,
        outputs: &mut [f64],
        row_outputs: &mut [f64],
    ) {
        self.run_random(inputs, n, &mut Quiet, workspace, outputs, row_outputs);
    }

    /// Runs the program over `n` records. What is computed once is written to `outputs`, what is
    /// computed per record to `row_outputs`, row by row.
    pub fn run_random(
        &self,
        inputs: Inputs<'_>,
        n: usize,
        random: &mut impl Randomness,
        workspace: &mut Workspace,
        outputs: &mut [f64],
        row_outputs: &mut [f64],
    ) {
        workspace.prepare(self);
        once(&self.theta_steps, &self.theta, &inputs, n, random, &mut workspace.slots);
        if n > 0 {
            let arch = pulp::Arch::new();
            let mut start = 0;
            while start < n {
                let rows = start..n.min(start + BATCH);
                arch.dispatch(|| self.batch(rows.clone(), &inputs, random, workspace));
                self.write_rows(&rows, workspace, row_outputs);
                start = rows.end;
            }
        }
        once(&self.totals_steps, &self.totals, &inputs, n, random, &mut workspace.slots);
        self.read(outputs.iter_mut(), workspace);
    }

    /// Writes what was computed once in the last run.
    pub(crate) fn read<'a>(
        &self,
        outputs: impl Iterator<Item = &'a mut f64>,
        workspace: &Workspace,
    ) {
        for (to, &slot) in outputs.zip(&self.outputs) {
            *to = workspace.slots[slot as usize];
        }
    }

    /// Runs a program whose outputs are a value and its slopes.
    pub(crate) fn value_and_slopes(
        &self,
        inputs: Inputs<'_>,
        n: usize,
        slopes: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        self.run(inputs, n, workspace, &mut [], &mut []);
        let slot = |k: usize| workspace.slots[self.outputs[k] as usize];
        slopes.iter_mut().enumerate().for_each(|(k, to)| *to = slot(k + 1));
        slot(0)
    }

    fn width(&self, input: Input) -> usize {
        match input {
            Input::Record => self.widths.record,
            Input::Noise => self.widths.noise,
            _ => self.widths.beside_row,
        }
    }

    #[inline(always)]
    fn batch(
        &self,
        rows: Range<usize>,
        inputs: &Inputs<'_>,
        random: &mut impl Randomness,
        workspace: &mut Workspace,
    ) {
        let n = rows.len();
        let spare = workspace.columns.len() - 1;
        for instruction in &self.rows {
            let target = instruction.target as usize;
            if let Action::Sum | Action::SumProduct = instruction.action {
                workspace.slots[target] += sum_of(instruction, n, workspace);
                continue;
            }
            // The target column is swapped out, so that the others can be borrowed.
            workspace.columns.swap(target, spare);
            let Some(mut column) = workspace.columns.pop() else { return };
            let out = &mut column[..n];
            match instruction.action {
                Action::Load(input, place) => {
                    let width = self.width(input);
                    let from = &inputs.get(input)[rows.start * width..rows.end * width];
                    gather(from, width, place as usize, out);
                }
                Action::Draw(draw) => fill_random(draw, instruction, workspace, random, out),
                Action::Special(special)
                    if tables::evaluate(special, instruction, workspace, out) => {}
                Action::Special(special) => {
                    let count = instruction.args().len();
                    each(instruction, workspace, out, |args| special.evaluate(&args[..count]));
                }
                _ => elementwise(instruction, workspace, out),
            }
            workspace.columns.push(column);
            workspace.columns.swap(target, spare);
        }
    }

    fn write_rows(&self, rows: &Range<usize>, workspace: &Workspace, out: &mut [f64]) {
        let width = self.row_outputs.len();
        if width == 0 {
            return;
        }
        let out = &mut out[rows.start * width..rows.end * width];
        for (k, &operand) in self.row_outputs.iter().enumerate() {
            match operand {
                Operand::Slot(slot) => {
                    let value = workspace.slots[slot as usize];
                    out.chunks_exact_mut(width).for_each(|row| row[k] = value);
                }
                Operand::Column(column) if width == 1 => {
                    out.copy_from_slice(&workspace.columns[column as usize][..rows.len()]);
                }
                Operand::Column(column) => {
                    let from = &workspace.columns[column as usize];
                    out.chunks_exact_mut(width).zip(from.iter()).for_each(|(row, &x)| row[k] = x);
                }
            }
        }
    }
}

/// Instructions on slots, which were decoded to steps.
fn once(
    steps: &[Step],
    instructions: &[Instruction],
    inputs: &Inputs<'_>,
    n: usize,
    random: &mut impl Randomness,
    slots: &mut [f64],
) {
    scalar::run(steps, slots, |place, slots| {
        let instruction = &instructions[place];
        let arg = |k: usize| slot(instruction.args[k], slots);
        match instruction.action {
            Action::Load(input, place) => Some(inputs.get(input)[place as usize]),
            Action::Draw(draw) => Some(random.draw(draw, [arg(0), arg(1)])),
            Action::Sum | Action::SumProduct => None,
            _ => Some(function(instruction, n, slots)),
        }
    });
}

/// The number in a slot.
#[inline(always)]
fn slot(operand: Operand, slots: &[f64]) -> f64 {
    match operand {
        Operand::Slot(slot) => slots[slot as usize],
        Operand::Column(_) => f64::NAN,
    }
}

/// The value of an instruction on slots that is not plain arithmetic.
#[inline(never)]
fn function(instruction: &Instruction, n: usize, slots: &[f64]) -> f64 {
    let [a, b, c] = instruction.args.map(|operand| slot(operand, slots));
    match instruction.action {
        Action::Unary(op) => op.evaluate(a),
        Action::Binary(op) => op.evaluate(a, b),
        Action::MulAdd => a * b + c,
        Action::SubMul => c - a * b,
        Action::Special(special) => special.evaluate(&[a, b, c][..instruction.args().len()]),
        Action::Count => n as f64,
        _ => f64::NAN,
    }
}

/// Column `place` of rows of `width` numbers.
#[inline(always)]
fn gather(from: &[f64], width: usize, place: usize, out: &mut [f64]) {
    match width {
        1 => out.copy_from_slice(from),
        2 => strided::<2>(from, place, out),
        3 => strided::<3>(from, place, out),
        4 => strided::<4>(from, place, out),
        _ => out.iter_mut().zip(from.chunks_exact(width)).for_each(|(to, row)| *to = row[place]),
    }
}

#[inline(always)]
fn strided<const W: usize>(from: &[f64], place: usize, out: &mut [f64]) {
    let place = place.min(W - 1);
    out.iter_mut().zip(from.as_chunks::<W>().0).for_each(|(to, row)| *to = row[place]);
}

#[inline(always)]
fn read(workspace: &Workspace, operand: Operand, i: usize) -> f64 {
    match operand {
        Operand::Slot(slot) => workspace.slots[slot as usize],
        Operand::Column(column) => workspace.columns[column as usize][i],
    }
}

/// One record at a time.
#[inline(never)]
fn each(
    instruction: &Instruction,
    workspace: &Workspace,
    out: &mut [f64],
    mut f: impl FnMut([f64; 3]) -> f64,
) {
    for (i, to) in out.iter_mut().enumerate() {
        let mut args = [f64::NAN; 3];
        for (arg, &operand) in args.iter_mut().zip(instruction.args()) {
            *arg = read(workspace, operand, i);
        }
        *to = f(args);
    }
}

#[inline(never)]
fn fill_random(
    draw: crate::graph::Draw,
    instruction: &Instruction,
    workspace: &Workspace,
    random: &mut impl Randomness,
    out: &mut [f64],
) {
    if instruction.args().iter().any(|operand| matches!(operand, Operand::Column(_))) {
        each(instruction, workspace, out, |[a, b, _]| random.draw(draw, [a, b]));
        return;
    }
    let arg = |k: usize| instruction.args().get(k).map_or(f64::NAN, |&o| read(workspace, o, 0));
    random.draw_all(draw, [arg(0), arg(1)], out);
}

#[inline(always)]
fn sum_of(instruction: &Instruction, n: usize, workspace: &Workspace) -> f64 {
    let column = |k: usize| match instruction.args[k] {
        Operand::Column(column) => &workspace.columns[column as usize][..n],
        Operand::Slot(_) => &[],
    };
    let (a, b) = (column(0), column(1));
    match instruction.action {
        Action::Sum => sum(a.len(), |i| a[i]),
        _ => sum(a.len().min(b.len()), |i| a[i] * b[i]),
    }
}

/// Arithmetic on columns, a loop for each form of the arguments.
#[inline(always)]
fn elementwise(instruction: &Instruction, workspace: &Workspace, out: &mut [f64]) {
    let n = out.len();
    let same = |slot: u32| Same(workspace.slots[slot as usize]);
    let col = |column: u32| Each(&workspace.columns[column as usize][..n]);
    let [a, b, c] = instruction.args;
    match instruction.action {
        Action::Unary(op) => {
            let Operand::Column(a) = a else { return };
            unary(op, col(a).0, out);
        }
        Action::Binary(op) => {
            macro_rules! run {
                ($f:expr) => {
                    match (a, b) {
                        (Operand::Column(a), Operand::Column(b)) => map2(out, col(a), col(b), $f),
                        (Operand::Column(a), Operand::Slot(b)) => map2(out, col(a), same(b), $f),
                        (Operand::Slot(a), Operand::Column(b)) => map2(out, same(a), col(b), $f),
                        _ => {}
                    }
                };
            }
            match op {
                Binary::Add => run!(|a, b| a + b),
                Binary::Sub => run!(|a, b| a - b),
                Binary::Mul => run!(|a, b| a * b),
                Binary::Div => run!(|a, b| a / b),
                Binary::Pow => run!(|a, b| Binary::Pow.evaluate(a, b)),
                Binary::Min => run!(|a, b| Binary::Min.evaluate(a, b)),
                Binary::Max => run!(|a, b| Binary::Max.evaluate(a, b)),
                Binary::Lt => run!(|a, b| Binary::Lt.evaluate(a, b)),
                Binary::Le => run!(|a, b| Binary::Le.evaluate(a, b)),
                Binary::Eq => run!(|a, b| Binary::Eq.evaluate(a, b)),
            }
        }
        _ => {
            use Operand::{Column as C, Slot as S};
            macro_rules! run {
                ($f:expr) => {
                    match (a, b, c) {
                        (C(a), C(b), C(c)) => map3(out, col(a), col(b), col(c), $f),
                        (C(a), C(b), S(c)) => map3(out, col(a), col(b), same(c), $f),
                        (C(a), S(b), C(c)) => map3(out, col(a), same(b), col(c), $f),
                        (C(a), S(b), S(c)) => map3(out, col(a), same(b), same(c), $f),
                        (S(a), C(b), C(c)) => map3(out, same(a), col(b), col(c), $f),
                        (S(a), C(b), S(c)) => map3(out, same(a), col(b), same(c), $f),
                        (S(a), S(b), C(c)) => map3(out, same(a), same(b), col(c), $f),
                        _ => {}
                    }
                };
            }
            match instruction.action {
                Action::MulAdd => run!(|a, b, c| a * b + c),
                Action::SubMul => run!(|a, b, c| c - a * b),
                _ => run!(|a, b, c| if a != 0.0 { b } else { c }),
            }
        }
    }
}

#[inline(always)]
fn unary(op: Unary, a: &[f64], out: &mut [f64]) {
    match op {
        Unary::Neg => map1(out, a, |a| -a),
        Unary::Exp => map1(out, a, |a| Unary::Exp.evaluate(a)),
        Unary::Log => map1(out, a, |a| Unary::Log.evaluate(a)),
        Unary::Sqrt => map1(out, a, |a| a.sqrt()),
        Unary::Abs => map1(out, a, |a| a.abs()),
        Unary::Floor => map1(out, a, |a| a.floor()),
        Unary::Log1p => map1(out, a, |a| Unary::Log1p.evaluate(a)),
        Unary::Logistic => map1(out, a, |a| Unary::Logistic.evaluate(a)),
        Unary::Softplus => map1(out, a, |a| Unary::Softplus.evaluate(a)),
        _ => scalar_unary(op, a, out),
    }
}

/// Functions without a vectorised form.
#[inline(never)]
fn scalar_unary(op: Unary, a: &[f64], out: &mut [f64]) {
    map1(out, a, |a| op.evaluate(a));
}
