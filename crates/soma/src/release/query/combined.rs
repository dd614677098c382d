//! Several queries on the same records.

use std::sync::Arc;

use soma_language::program::Program;

use super::{BATCH, ClampedMoments, Moments, Query, Sensitivity};
use crate::error::{Invalid, Outcome};

/// The statistics of several queries, concatenated.
#[derive(Debug, Clone)]
pub(crate) struct Combined {
    queries: Vec<Arc<dyn Query>>,
    /// The names of the parts, which prefix the labels of their statistics.
    names: Vec<String>,
    dim: usize,
}

impl Combined {
    /// The queries of parts with these names. All must have records of the same length.
    pub(crate) fn new(queries: Vec<Arc<dyn Query>>, names: Vec<String>) -> Result<Self, Invalid> {
        let (first, rest) = (&queries[0], &queries[1..]);
        let d = first.record_dim();
        if let Some(i) = rest.iter().position(|query| query.record_dim() != d) {
            return Err(Invalid::new(
                format!("parts[{}].query", i + 1),
                "the parts of a release are about the same records",
                format!("records of {} numbers", rest[i].record_dim()),
                format!("records of {d}, as the query of the first part takes them"),
            ));
        }
        let dim = queries.iter().map(|query| query.dim()).sum();
        Ok(Combined { queries, names, dim })
    }

    /// Each query with the offset of its first statistic.
    fn places(&self) -> impl Iterator<Item = (usize, &Arc<dyn Query>)> {
        self.queries.iter().scan(0, |next, query| {
            let at = *next;
            *next += query.dim();
            Some((at, query))
        })
    }
}

impl Query for Combined {
    fn kind(&self) -> &'static str {
        "combined"
    }

    fn record_dim(&self) -> usize {
        self.queries[0].record_dim()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let d = self.record_dim();
        let size = self.batch_size();
        let mut own = vec![0.0; size * self.queries.iter().map(|q| q.dim()).max().unwrap_or(0)];
        for (records, out) in records.chunks(size * d).zip(out.chunks_mut(size * self.dim)) {
            let count = records.len() / d;
            for (at, query) in self.places() {
                let k = query.dim();
                let own = &mut own[..count * k];
                query.statistics(records, own)?;
                for (row, own) in out.chunks_exact_mut(self.dim).zip(own.chunks_exact(k)) {
                    row[at..at + k].copy_from_slice(own);
                }
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.queries.iter().flat_map(|query| query.bounds()).collect()
    }

    fn sensitivity(&self) -> Sensitivity {
        together(self.queries.iter().map(|query| query.sensitivity()))
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        together(self.queries.iter().map(|query| query.sensitivity_to_presence()))
    }

    fn labels(&self) -> Vec<String> {
        let named = self.queries.iter().zip(&self.names);
        named
            .flat_map(|(query, name)| {
                query.labels().into_iter().map(move |label| format!("{name}: {label}"))
            })
            .collect()
    }

    fn is_integer(&self) -> bool {
        self.queries.iter().all(|query| query.is_integer())
    }

    fn batch_size(&self) -> usize {
        self.queries.iter().map(|query| query.batch_size()).max().unwrap_or(BATCH)
    }

    fn clamped_moments(&self) -> Option<ClampedMoments> {
        let mut all: Option<ClampedMoments> = None;
        for query in &self.queries {
            let own = query.clamped_moments()?;
            match &mut all {
                None => all = Some(own),
                Some(all) if (&all.centre, &all.half_width) == (&own.centre, &own.half_width) => {
                    all.terms.extend(own.terms);
                }
                Some(_) => return None,
            }
        }
        all
    }

    fn programs(&self) -> Option<Vec<Program>> {
        let each = self.queries.iter().map(|query| query.programs());
        each.collect::<Option<Vec<_>>>().map(|all| all.concat())
    }

    fn describe(&self) -> Option<String> {
        let texts: Vec<String> = self.queries.iter().filter_map(|query| query.describe()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The moments from the part that determines most.
    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let said: Vec<Moments> = self
            .places()
            .filter_map(|(at, query)| query.moments(&means[at..at + query.dim()]))
            .collect();
        let best = said.iter().position(|moments| moments.covariance.is_some()).unwrap_or(0);
        said.into_iter().nth(best)
    }
}

/// The joint sensitivity of several statistics of one record.
fn together(all: impl Iterator<Item = Sensitivity>) -> Sensitivity {
    let (l1, squares) =
        all.fold((0.0, 0.0), |(l1, squares), own| (l1 + own.l1, squares + own.l2 * own.l2));
    Sensitivity { l1, l2: squares.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::query::{Histogram, Mean};

    #[test]
    fn statistics_stand_side_by_side() {
        let mean: Arc<dyn Query> = Arc::new(Mean::new(vec![(0.0, 2.0)]).unwrap());
        let cells: Arc<dyn Query> =
            Arc::new(Histogram::new(vec![vec![0.0, 1.0, 2.0, 3.0]]).unwrap());
        let names = ["total", "cells"].map(String::from).to_vec();
        let query = Combined::new(vec![mean, cells], names).unwrap();
        let records: Vec<f64> = (0..200).map(|i| f64::from(i % 7) * 0.5).collect();
        let mut out = vec![9.0; 800];
        query.statistics(&records, &mut out).unwrap();
        for (x, row) in records.iter().zip(out.chunks_exact(4)) {
            assert_eq!(row[0], x.min(2.0));
            let mut cells = [0.0; 3];
            cells[(*x as usize).min(2)] = 1.0;
            assert_eq!(row[1..], cells);
        }
        assert_eq!(query.labels()[1], "cells: [0, 1)");
        assert_eq!(query.sensitivity(), Sensitivity { l1: 4.0, l2: 6.0_f64.sqrt() });
        assert!(query.clamped_moments().is_none());
    }

    #[test]
    fn records_must_be_the_same() {
        let one: Arc<dyn Query> = Arc::new(Mean::new(vec![(0.0, 2.0)]).unwrap());
        let two: Arc<dyn Query> = Arc::new(Mean::new(vec![(0.0, 2.0); 2]).unwrap());
        let names = ["a", "b"].map(String::from).to_vec();
        let error = Combined::new(vec![one, two], names).unwrap_err();
        assert_eq!(error.field, "parts[1].query");
    }
}
