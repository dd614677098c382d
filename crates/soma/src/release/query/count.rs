//! The number of records.

use std::sync::Arc;

use super::{Query, Sensitivity};
use crate::error::Outcome;

/// The number of records: a statistic that is 1 for every record of length `d`.
#[derive(Debug, Clone)]
pub struct Count {
    d: usize,
}

impl Count {
    /// The count of records of `d` numbers.
    pub fn new(d: usize) -> Self {
        Count { d }
    }
}

impl Query for Count {
    fn kind(&self) -> &'static str {
        "count"
    }

    fn record_dim(&self) -> usize {
        self.d
    }

    fn dim(&self) -> usize {
        1
    }

    fn statistics(&self, _: &[f64], out: &mut [f64]) -> Outcome {
        out.fill(1.0);
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(1.0, 1.0)]
    }

    /// Replacing a record changes nothing.
    fn sensitivity(&self) -> Sensitivity {
        Sensitivity { l1: 0.0, l2: 0.0 }
    }

    fn reads(&self, _: usize) -> bool {
        false
    }

    fn labels(&self) -> Vec<String> {
        vec!["n".into()]
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn for_any_record(&self, d: usize) -> Option<Arc<dyn Query>> {
        Some(Arc::new(Count::new(d)))
    }

    fn counts_records(&self) -> bool {
        true
    }
}
