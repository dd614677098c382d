//! The table `[output]`: what is stored in addition to the draws.

use super::value::Table;
use crate::error::Invalid;

/// What is stored in addition to the draws.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Output {
    /// The thinning interval of stored records; `None` if they are not stored.
    pub records_thin: Option<u64>,
}

impl Output {
    pub(super) fn read(table: &Table) -> Result<Self, Invalid> {
        table.only(&["records", "records_thin"])?;
        let records = table.get("records").map(|value| value.boolean()).transpose()?;
        let thin = table.get("records_thin").map(|value| value.whole(1..=u64::MAX)).transpose()?;
        if records != Some(true) && thin.is_some() {
            return Err(Invalid::new(
                table.field("records_thin"),
                "records are not stored",
                "records_thin alone",
                "records = true beside records_thin",
            ));
        }
        Ok(Output { records_thin: (records == Some(true)).then_some(thin.unwrap_or(1)) })
    }
}
