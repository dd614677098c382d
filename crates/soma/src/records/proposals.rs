//! Sources of proposals.

use std::ops::Range;

use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::model::Model;
use crate::release::query::BATCH;
use crate::release::{NoiseUnits, Query, Release};
use crate::rng::Rng;

/// Proposed records with their statistics in noise units, in flat arrays, row by row.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    d: usize,
    k: usize,
    records: Vec<f64>,
    statistics: Vec<f64>,
}

impl Batch {
    /// Resizes to `size` records of length `d` with statistics of length `k`.
    pub fn resize(&mut self, size: usize, d: usize, k: usize) {
        (self.d, self.k) = (d, k);
        self.records.resize(size * d, 0.0);
        self.statistics.resize(size * k, 0.0);
    }

    /// Record j.
    #[inline(always)]
    pub fn record(&self, j: usize) -> &[f64] {
        &self.records[j * self.d..][..self.d]
    }

    /// The statistic of record j.
    #[inline(always)]
    pub fn statistic(&self, j: usize) -> &[f64] {
        &self.statistics[j * self.k..][..self.k]
    }

    /// All statistics, row by row.
    pub(crate) fn statistics(&self) -> &[f64] {
        &self.statistics
    }

    /// All records, row by row.
    pub(crate) fn records(&self) -> &[f64] {
        &self.records
    }

    /// All records and all statistics, to be filled.
    pub fn parts_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.records, &mut self.statistics)
    }
}

/// A source of proposals. theta is constant in a sweep, so proposals are drawn in batches: a sweep
/// has one virtual call per batch.
pub trait Proposals {
    /// Fills `batch` with `size` new proposals.
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome;

    /// Fills `batch` with `size` new proposals, and `bins` with their bins instead of the
    /// statistics. Returns false, without a draw, if bins are available through the statistics
    /// only.
    fn fill_binned(
        &mut self,
        size: usize,
        batch: &mut Batch,
        bins: &mut [u32],
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let _ = (size, batch, bins, rng);
        Ok(false)
    }

    /// The preferred batch size.
    fn batch_size(&self) -> usize {
        BATCH
    }
}

/// Proposals drawn from a model at theta.
#[derive(Debug)]
pub struct ModelProposals<'a> {
    model: &'a dyn Model,
    theta: &'a [f64],
    release: &'a Release,
    units: NoiseUnits,
}

impl<'a> ModelProposals<'a> {
    /// Proposals of `model` at `theta`, for `release`.
    pub fn new(model: &'a dyn Model, theta: &'a [f64], release: &'a Release) -> Self {
        ModelProposals { model, theta, release, units: NoiseUnits::new(release) }
    }

    /// Computes the statistics of the records in `batch`.
    pub(crate) fn complete(&self, batch: &mut Batch) -> Outcome {
        let (records, statistics) = batch.parts_mut();
        let query = self.release.query();
        query.statistics(records, statistics)?;
        // A NaN weight would make every comparison false: no proposal may have one.
        if !self.units.convert(statistics) {
            return Err(not_a_number(query.as_ref(), records, statistics).into());
        }
        Ok(())
    }
}

impl Proposals for ModelProposals<'_> {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        batch.resize(size, self.release.query().record_dim(), self.release.query().dim());
        self.model.propose(self.theta, batch.parts_mut().0, rng)?;
        self.complete(batch)
    }

    fn fill_binned(
        &mut self,
        size: usize,
        batch: &mut Batch,
        bins: &mut [u32],
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let query = self.release.query();
        if !query.bins_of(&[], &mut []) {
            return Ok(false);
        }
        batch.resize(size, query.record_dim(), query.dim());
        self.model.propose(self.theta, batch.parts_mut().0, rng)?;
        let is_said = query.bins_of(batch.records(), bins);
        let (k, most) = (query.dim(), bins.iter().copied().max().unwrap_or(0));
        if is_said && most as usize > k {
            return Err(Invalid::new(
                "query",
                format!("the bin of a record under a {} query is out of range", query.kind()),
                format!("bin {most}"),
                format!("a bin from 0 to {}, or {k} for a record in no bin", k - 1),
            )
            .into());
        }
        Ok(is_said)
    }

    fn batch_size(&self) -> usize {
        self.model.batch_size().max(self.release.query().batch_size())
    }
}

/// The error for a NaN in `statistics`, with its record.
#[cold]
fn not_a_number(query: &dyn Query, records: &[f64], statistics: &[f64]) -> Invalid {
    let rows = statistics.chunks_exact(query.dim());
    let found = rows.zip(records.chunks_exact(query.record_dim()));
    let record = found.filter(|(row, _)| row.iter().any(|t| t.is_nan())).map(|(_, record)| record);
    Invalid::new(
        "query",
        format!("a statistic of a {} query is not a number", query.kind()),
        format!("the record {:?}", record.take(1).next().unwrap_or_default()),
        "records and statistics that are numbers: check whether the prior lets parameters grow \
         without limit",
    )
}

/// The proposals of a sweep, which are drawn in batches.
pub(crate) struct Batches<'a> {
    proposals: &'a mut dyn Proposals,
    batch: &'a mut Batch,
    size: usize,
    done: usize,
    moves: usize,
}

impl<'a> Batches<'a> {
    /// `moves` proposals, drawn into `batch`.
    pub(crate) fn new(
        moves: usize,
        proposals: &'a mut dyn Proposals,
        batch: &'a mut Batch,
    ) -> Self {
        let size = proposals.batch_size().max(1);
        Batches { proposals, batch, size, done: 0, moves }
    }

    /// Draws the next batch and returns its range among the moves; `None` after the last.
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Outcome<Option<Range<usize>>> {
        if self.done == self.moves {
            return Ok(None);
        }
        interrupt::check()?;
        let start = self.done;
        self.done = self.moves.min(start + self.size);
        self.proposals.fill(self.done - start, self.batch, rng)?;
        Ok(Some(start..self.done))
    }

    /// The same with bins instead of statistics, if available. Returns the number of proposals, and
    /// whether their bins are in `bins`.
    pub(crate) fn next_binned(
        &mut self,
        bins: &mut Vec<u32>,
        rng: &mut Rng,
    ) -> Outcome<Option<(usize, bool)>> {
        if self.done == self.moves {
            return Ok(None);
        }
        interrupt::check()?;
        let count = self.size.min(self.moves - self.done);
        bins.resize(count, 0);
        if self.proposals.fill_binned(count, self.batch, bins, rng)? {
            self.done += count;
            return Ok(Some((count, true)));
        }
        Ok(self.next(rng)?.map(|places| (places.len(), false)))
    }

    /// The total number of proposals.
    pub(crate) fn moves(&self) -> u64 {
        self.moves as u64
    }

    /// The last batch.
    #[inline(always)]
    pub(crate) fn batch(&self) -> &Batch {
        self.batch
    }
}

/// Calls `step` with each of `moves` proposals, drawn in batches.
pub(crate) fn for_each_proposal(
    moves: usize,
    proposals: &mut dyn Proposals,
    batch: &mut Batch,
    rng: &mut Rng,
    mut step: impl FnMut(usize, &[f64], &[f64], &mut Rng),
) -> Outcome {
    let mut batches = Batches::new(moves, proposals, batch);
    while let Some(places) = batches.next(rng)? {
        let start = places.start;
        for i in places {
            let (y, t) = (batches.batch().record(i - start), batches.batch().statistic(i - start));
            step(i, y, t, rng);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kernel::KernelChoice;
    use crate::model::Uniform;
    use crate::records::Records;
    use crate::release::Aggregate;
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::query::{Query, Sensitivity};
    use crate::rng;

    /// A query with two bins that puts every record into bin `.0`.
    #[derive(Debug)]
    struct Misplaced(u32);

    impl Query for Misplaced {
        fn kind(&self) -> &'static str {
            "misplaced"
        }

        fn record_dim(&self) -> usize {
            1
        }

        fn dim(&self) -> usize {
            2
        }

        fn statistics(&self, _: &[f64], out: &mut [f64]) -> Outcome {
            out.chunks_exact_mut(2).for_each(|row| row.copy_from_slice(&[1.0, 0.0]));
            Ok(())
        }

        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(0.0, 1.0); 2]
        }

        fn sensitivity(&self) -> Sensitivity {
            Sensitivity { l1: 2.0, l2: 2.0_f64.sqrt() }
        }

        fn labels(&self) -> Vec<String> {
            ["a", "b"].map(String::from).to_vec()
        }

        fn bins(&self) -> Option<usize> {
            Some(2)
        }

        fn bins_of(&self, _: &[f64], out: &mut [u32]) -> bool {
            out.fill(self.0);
            true
        }
    }

    /// A user's query that returns a bin out of range ends the sweep with an error.
    #[test]
    fn bins_that_there_are_not_are_refused() {
        for (bin, is_one) in [(0, true), (2, true), (3, false), (u32::MAX, false)] {
            let mechanism = Mechanism::new(Noise::Laplace, vec![1.0; 2]).unwrap();
            let values = vec![20.0, 0.0];
            let query = Arc::new(Misplaced(bin));
            let release = Release::new(query, mechanism, Aggregate::Sum, 20, values).unwrap();
            let model = Uniform::new(vec![(0.0, 1.0)]).unwrap();
            let mut records = Records::new(&release, vec![0.5; 20]).unwrap();
            let mut kernel = KernelChoice::Soma.build(20).unwrap();
            let mut proposals = ModelProposals::new(&model, &[], &release);
            let mut rng = rng::stream(1, 0);
            match kernel.sweep(&mut records, &mut proposals, release.potential(), &mut rng) {
                Ok(_) => assert!(is_one, "{bin}"),
                Err(error) => {
                    assert!(!is_one, "{error}");
                    let said = format!(
                        "query: the bin of a record under a misplaced query is out of range \
                         (given: bin {bin}). Allowed: a bin from 0 to 1, or 2 for a record in no \
                         bin."
                    );
                    assert_eq!(error.to_string(), said);
                }
            }
        }
    }
}
