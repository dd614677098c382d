//! The key `n` of `[release]`: the number of records, public or unknown.

use super::value::Value;
use crate::error::Invalid;
use crate::release::{SizePrior, Total};

/// The largest number of records of a spec, which would not fit in memory.
const MOST_RECORDS: u64 = 1_000_000_000;

/// The value of n in a spec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// It is public.
    Public(usize),
    /// It is unknown, with this prior; and the number of slots for imputed records, if given.
    Unknown { prior: SizePrior, slots: Option<usize> },
}

/// The priors of n by name, each with its keys.
const PRIORS: [&str; 4] = ["flat", "uniform", "poisson", "poisson-gamma"];

/// `n = 100`, `n = "unknown"`, which is flat, or `n = { prior = "poisson", mean = 100 }`.
pub(super) fn read(value: &Value) -> Result<Size, Invalid> {
    if value.is_text() {
        if value.choice(&["unknown"]).is_err() {
            let allowed = format!("a whole number from 1 to {MOST_RECORDS}, or \"unknown\"");
            let problem = "must be a number of records";
            return Err(Invalid::new(value.path(), problem, value.text()?, allowed));
        }
        return Ok(Size::Unknown { prior: SizePrior::Flat, slots: None });
    }
    if !value.is_table() {
        return Ok(Size::Public(value.whole(1..=MOST_RECORDS)? as usize));
    }
    let table = value.table("a table")?;
    let prior = table.need("prior", "\"flat\", \"uniform\", \"poisson\" or \"poisson-gamma\"")?;
    let number = |key: &str| table.need(key, "a positive number")?.number();
    let prior = match prior.choice(&PRIORS)? {
        "flat" => {
            table.only(&["prior", "slots"])?;
            SizePrior::Flat
        }
        "uniform" => {
            table.only(&["prior", "slots", "low", "high"])?;
            let low = table.get("low").map(|low| low.whole(0..=MOST_RECORDS)).transpose()?;
            let high = table.need("high", "the largest number of records")?;
            SizePrior::Uniform { low: low.unwrap_or(0), high: high.whole(1..=MOST_RECORDS)? }
        }
        "poisson" => {
            table.only(&["prior", "slots", "mean"])?;
            SizePrior::Poisson { mean: number("mean")? }
        }
        _ => {
            table.only(&["prior", "slots", "shape", "rate"])?;
            SizePrior::PoissonGamma { shape: number("shape")?, rate: number("rate")? }
        }
    };
    let below = |invalid: Invalid| Invalid {
        field: invalid.field.replacen('n', value.path(), 1),
        ..invalid
    };
    Total::Unknown(prior).check().map_err(below)?;
    let slots = table.get("slots").map(|slots| slots.whole(1..=MOST_RECORDS)).transpose()?;
    Ok(Size::Unknown { prior, slots: slots.map(|slots| slots as usize) })
}
