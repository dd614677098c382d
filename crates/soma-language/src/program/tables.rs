//! Functions of a column whose other arguments are the same for all records, by a table.

use super::{Instruction, Operand, Workspace};
use crate::special::{BetaTable, Special, log1p, logistic};

/// Tables that were made last: programs ask for the same ones again, for the next batch, or for the
/// derivatives with respect to the noise.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    beta: Vec<([u64; 2], BetaTable)>,
    /// Which one is replaced next.
    oldest: usize,
}

/// How many tables are kept.
const KEPT: usize = 8;

/// The fewest records for which a table of beta quantiles or scores pays. Whether there is one already
/// does not matter, so that results depend on the arguments alone.
const FEWEST_QUANTILES: usize = 8;
const FEWEST_SCORES: usize = 48;

/// Shapes for which the table is as accurate as the functions.
const SHAPES: std::ops::RangeInclusive<f64> = 0.05..=500.0;

/// Whether a table is used for so many records of a batch, given shapes that are the same for all.
pub(super) fn has_table(special: Special, records: usize) -> bool {
    match special {
        Special::BetaQuantile => records >= FEWEST_QUANTILES,
        Special::BetaScore => records >= FEWEST_SCORES,
        _ => false,
    }
}

/// Writes a special function of a column, if that is done by a table.
pub(super) fn evaluate(
    special: Special,
    instruction: &Instruction,
    workspace: &mut Workspace,
    out: &mut [f64],
) -> bool {
    let &[Operand::Slot(a), Operand::Slot(b), Operand::Column(column)] = instruction.args() else {
        return false;
    };
    let Workspace { slots, columns, tables } = workspace;
    let shapes = [slots[a as usize], slots[b as usize]];
    if !has_table(special, out.len()) || !shapes.iter().all(|shape| SHAPES.contains(shape)) {
        return false;
    }
    let table = tables.beta(shapes);
    let args = &columns[column as usize][..out.len()];
    if special == Special::BetaQuantile {
        out.iter_mut().zip(args).for_each(|(x, e)| *x = logistic(table.logit(*e)));
    } else {
        out.iter_mut().zip(args).for_each(|(e, x)| *e = table.normal(logit(*x)));
    }
    true
}

/// log(x / (1 - x)); infinite at the ends and beyond.
fn logit(x: f64) -> f64 {
    match x {
        x if x <= 0.0 => f64::NEG_INFINITY,
        x if x >= 1.0 => f64::INFINITY,
        x => x.ln() - log1p(-x),
    }
}

impl Tables {
    fn beta(&mut self, shapes: [f64; 2]) -> &BetaTable {
        let key = shapes.map(f64::to_bits);
        let place = match self.beta.iter().position(|(known, _)| *known == key) {
            Some(place) => place,
            None => {
                let made = (key, BetaTable::new(shapes[0], shapes[1]));
                if self.beta.len() < KEPT {
                    self.beta.push(made);
                    self.beta.len() - 1
                } else {
                    self.oldest = (self.oldest + 1) % KEPT;
                    self.beta[self.oldest] = made;
                    self.oldest
                }
            }
        };
        &self.beta[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::{beta_quantile, beta_score};

    /// Each of more tables than are kept agrees with the functions, whether it is new or not.
    #[test]
    fn tables_agree_with_the_functions() {
        let mut tables = Tables::default();
        let shapes = [0.05, 0.4, 1.0, 3.0, 60.0, 500.0];
        let pairs = || shapes.iter().flat_map(|&a| shapes.iter().map(move |&b| [a, b]));
        for [a, b] in pairs().chain([[3.0, 60.0]; 2]).chain(pairs()) {
            let table = tables.beta([a, b]);
            for step in -70..=70 {
                let e = 0.1 * f64::from(step);
                let (ours, theirs) = (logistic(table.logit(e)), beta_quantile(a, b, e));
                let close = (ours - theirs).abs() <= 1e-8 * theirs.min(1.0 - theirs) + 1e-15;
                assert!(close, "quantile of {e} under {a}, {b}: {ours:e}, {theirs:e}");
                if theirs > 1e-290 && theirs < 0.999 {
                    let (ours, theirs) = (table.normal(logit(theirs)), beta_score(a, b, theirs));
                    let close = (ours - theirs).abs() < 1e-9 * theirs.abs().max(1.0);
                    assert!(close, "score at {e} under {a}, {b}: {ours:e}, {theirs:e}");
                }
            }
        }
        assert_eq!(tables.beta.len(), KEPT);
    }
}
