//! The key `n` of `[release]`: the number of records, public or not.

use super::value::Value;
use crate::error::Invalid;
use crate::release::{SizePrior, Total};

/// The most records of a spec: more do not fit in memory anywhere.
const MOST_RECORDS: u64 = 1_000_000_000;

/// What a spec says of n.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// It is public.
    Public(usize),
    /// It is confidential, with this prior.
    Unknown(SizePrior),
}

/// The priors of n by name, each with its keys.
const PRIORS: [&str; 3] = ["flat", "poisson", "poisson-gamma"];

/// `n = 100`, `n = "unknown"`, which is flat, or `n = { prior = "poisson", mean = 100 }`.
pub(super) fn read(value: &Value) -> Result<Size, Invalid> {
    if value.is_text() {
        value.choice(&["unknown"])?;
        return Ok(Size::Unknown(SizePrior::Flat));
    }
    if !value.is_table() {
        return Ok(Size::Public(value.whole(1..=MOST_RECORDS)? as usize));
    }
    let table = value.table("a table")?;
    let prior = table.need("prior", "\"flat\", \"poisson\" or \"poisson-gamma\"")?;
    let number = |key: &str| table.need(key, "a positive number")?.number();
    let prior = match prior.choice(&PRIORS)? {
        "flat" => {
            table.only(&["prior"])?;
            SizePrior::Flat
        }
        "poisson" => {
            table.only(&["prior", "mean"])?;
            SizePrior::Poisson { mean: number("mean")? }
        }
        _ => {
            table.only(&["prior", "shape", "rate"])?;
            SizePrior::PoissonGamma { shape: number("shape")?, rate: number("rate")? }
        }
    };
    let below = |invalid: Invalid| Invalid {
        field: invalid.field.replacen('n', value.path(), 1),
        ..invalid
    };
    Total::Unknown(prior).check().map_err(below)?;
    Ok(Size::Unknown(prior))
}

impl Size {
    /// The number of records, or a guess at it from released counts.
    pub(super) fn guess(self, values: &[f64]) -> usize {
        match self {
            Size::Public(n) => n,
            Size::Unknown(_) => {
                let sum: f64 = values.iter().map(|value| value.max(0.0)).sum();
                sum.ceil().clamp(1.0, Total::MOST as f64) as usize
            }
        }
    }
}
