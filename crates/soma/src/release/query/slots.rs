//! A query on slots, each with a record or empty.

use std::sync::Arc;

use super::{BATCH, Query, Sensitivity};
use crate::error::Outcome;

/// A query on slots: the first number of a slot is 1 if it holds a record, and 0 if it is empty;
/// the others are the record. The statistic of an empty slot is zero.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    inner: Arc<dyn Query>,
}

impl Slots {
    /// The query `inner`, on slots.
    pub(crate) fn new(inner: Arc<dyn Query>) -> Self {
        Slots { inner }
    }
}

impl Query for Slots {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn record_dim(&self) -> usize {
        self.inner.record_dim() + 1
    }

    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let (d, k, size) = (self.record_dim(), self.dim(), self.batch_size().max(BATCH));
        let mut contents = Vec::with_capacity(size * (d - 1));
        for (slots, out) in records.chunks(size * d).zip(out.chunks_mut(size * k)) {
            contents.clear();
            slots.chunks_exact(d).for_each(|slot| contents.extend_from_slice(&slot[1..]));
            self.inner.statistics(&contents, out)?;
            for (slot, row) in slots.chunks_exact(d).zip(out.chunks_exact_mut(k)) {
                if slot[0] == 0.0 {
                    row.fill(0.0);
                }
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let with_zero = |(low, high): (f64, f64)| (low.min(0.0), high.max(0.0));
        self.inner.bounds().into_iter().map(with_zero).collect()
    }

    /// A slot may change from one record to another, or from a record to empty.
    fn sensitivity(&self) -> Sensitivity {
        let (replaced, present) = (self.inner.sensitivity(), self.inner.sensitivity_to_presence());
        Sensitivity { l1: replaced.l1.max(present.l1), l2: replaced.l2.max(present.l2) }
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        self.inner.sensitivity_to_presence()
    }

    fn labels(&self) -> Vec<String> {
        self.inner.labels()
    }

    fn is_integer(&self) -> bool {
        self.inner.is_integer()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn describe(&self) -> Option<String> {
        self.inner.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::query::Mean;

    #[test]
    fn nothing_counts_for_nothing() {
        let query = Slots::new(Arc::new(Mean::new(vec![(1.0, 2.0), (-3.0, 3.0)]).unwrap()));
        let mut out = [9.0; 6];
        let slots = [1.0, 5.0, -1.0, 0.0, 5.0, -1.0, 1.0, 0.0, 4.0];
        query.statistics(&slots, &mut out).unwrap();
        assert_eq!(out, [2.0, -1.0, 0.0, 0.0, 1.0, 3.0]);
        assert_eq!(query.bounds(), [(0.0, 2.0), (-3.0, 3.0)]);
    }
}
