//! Coupled proposals to two chains.

use pulp::Arch;
use rand::RngExt;

use super::pair::Proposal;
use crate::error::Outcome;
use crate::interrupt;
use crate::model::Model;
use crate::numeric::exp::exp;
use crate::records::imputed::copy_short;
use crate::records::{Batch, ModelProposals, Proposals};
use crate::release::Release;
use crate::release::query::BATCH;
use crate::rng::Rng;

/// Proposals to two chains: the same if their thetas are equal, and otherwise a maximal coupling of
/// the two densities f1 and f2 by rejection.
///
/// Proposals to the first chain are drawn as in the plain kernel. Each is kept for the second chain
/// with probability min(1, f2 / f1). The others are replaced by draws from the residual of f2:
/// draws from f2, kept with probability 1 - min(1, f1 / f2). Candidates are drawn in batches of the
/// expected number needed, and those left over serve the next batch. The number of tries is
/// unlimited; the expected number is one per proposal.
#[derive(Debug)]
pub(super) struct CoupledProposals<'a> {
    model: &'a dyn Model,
    theta: [&'a [f64]; 2],
    source: ModelProposals<'a>,
    size: usize,
    shares: bool,
    buffers: Buffers,
}

/// Buffers for proposals, reused across sweeps.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffers {
    /// The proposals to the first chain, and those to the second that differ from them.
    batches: [Batch; 2],
    /// For each proposal, its row in the second batch, or [`COMMON`].
    rows: Vec<u32>,
    shares: Vec<f64>,
    uniforms: Vec<f64>,
    candidates: Vec<f64>,
    /// Unused draws from the residual of the second density.
    pool: Vec<f64>,
}

/// Marks a proposal that is the same for both chains.
const COMMON: u32 = u32::MAX;

/// The smallest batch of candidates.
const FEWEST: usize = 4;

impl<'a> CoupledProposals<'a> {
    pub fn new(model: &'a dyn Model, theta: [&'a [f64]; 2], release: &'a Release) -> Self {
        CoupledProposals {
            model,
            theta,
            source: ModelProposals::new(model, theta[0], release),
            size: BATCH.max(model.batch_size()).max(release.query().batch_size()),
            shares: false,
            buffers: Buffers::default(),
        }
    }

    /// Sets whether proposals that differ share the parts whose distribution does not depend on
    /// theta.
    pub fn sharing(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// Reuses the buffers of an earlier sweep.
    pub fn within(mut self, mut buffers: Buffers) -> Self {
        buffers.pool.clear();
        self.buffers = buffers;
        self
    }

    /// Returns the buffers, for the next sweep.
    pub fn into_buffers(self) -> Buffers {
        self.buffers
    }

    /// Proposal j of the last batch.
    #[inline(always)]
    pub fn proposal(&self, j: usize) -> Proposal<'_> {
        let Buffers { batches: [first, second], rows, .. } = &self.buffers;
        let (record, statistic) = (first.record(j), first.statistic(j));
        let is_common = rows[j] == COMMON;
        let (other, same) = if is_common {
            (record, statistic)
        } else {
            (second.record(rows[j] as usize), second.statistic(rows[j] as usize))
        };
        Proposal { records: [record, other], statistics: [statistic, same], is_common }
    }

    /// Draws a batch of at most `left` proposals. Returns its size.
    pub fn draw(&mut self, left: usize, rng: &mut Rng) -> Outcome<usize> {
        let size = self.size.min(left);
        self.source.fill(size, &mut self.buffers.batches[0], rng)?;
        self.buffers.rows.clear();
        self.buffers.rows.resize(size, COMMON);
        if self.theta[0] == self.theta[1] {
            return Ok(size);
        }
        let open = self.compare(rng)?;
        if open > 0 {
            let first = &self.buffers.batches[0];
            let (d, k) = (first.record(0).len(), first.statistic(0).len());
            self.buffers.batches[1].resize(open, d, k);
            if self.shares {
                self.redraw(d, rng)?;
            } else {
                self.draw_beyond(open, d, rng)?;
            }
            // Statistics are computed for accepted candidates only.
            self.source.complete(&mut self.buffers.batches[1])?;
        }
        Ok(size)
    }

    /// Marks the proposals to the first chain that are rejected for the second. Returns their
    /// number.
    fn compare(&mut self, rng: &mut Rng) -> Outcome<usize> {
        let Buffers { batches, rows, shares, uniforms, .. } = &mut self.buffers;
        let [from, to] = self.theta;
        weigh(self.model, [from, to], batches[0].records(), shares, uniforms, rng)?;
        let mut open = 0;
        for ((row, &share), &uniform) in rows.iter_mut().zip(&*shares).zip(&*uniforms) {
            let is_common = uniform < share;
            *row = if is_common { COMMON } else { open };
            open += u32::from(!is_common);
        }
        Ok(open as usize)
    }

    /// Draws the `open` proposals to the second chain from the residual of its density.
    fn draw_beyond(&mut self, open: usize, d: usize, rng: &mut Rng) -> Outcome {
        let CoupledProposals { model, theta, .. } = *self;
        let Buffers { batches, rows, shares, uniforms, candidates, pool } = &mut self.buffers;
        while pool.len() < open * d {
            interrupt::check()?;
            // Candidates are accepted about as often as proposals were rejected above.
            let wanted = (open - pool.len() / d) * rows.len() / open;
            candidates.resize(wanted.clamp(FEWEST, rows.len().max(FEWEST)) * d, 0.0);
            model.propose(theta[1], candidates, rng)?;
            weigh(model, [theta[1], theta[0]], candidates, shares, uniforms, rng)?;
            // Branch-free compaction: write each candidate to the end of the pool, then advance or
            // not.
            let mut end = pool.len();
            pool.resize(end + candidates.len(), 0.0);
            for ((candidate, &share), &uniform) in
                candidates.chunks_exact(d).zip(&*shares).zip(&*uniforms)
            {
                copy_short(&mut pool[end..][..d], candidate);
                end += if uniform < share { 0 } else { d };
            }
            pool.truncate(end);
        }
        let rest = pool.len() - open * d;
        batches[1].parts_mut().0.copy_from_slice(&pool[rest..]);
        pool.truncate(rest);
        Ok(())
    }

    /// As `draw_beyond`, with parts shared with the proposals to the first chain. A candidate then
    /// depends on its proposal and cannot serve another.
    fn redraw(&mut self, d: usize, rng: &mut Rng) -> Outcome {
        let CoupledProposals { model, theta, .. } = *self;
        let Buffers { batches: [first, second], rows, shares, uniforms, candidates, .. } =
            &mut self.buffers;
        let mut open: Vec<usize> = (0..rows.len()).filter(|&j| rows[j] != COMMON).collect();
        while !open.is_empty() {
            interrupt::check()?;
            candidates.clear();
            open.iter().for_each(|&j| candidates.extend_from_slice(first.record(j)));
            model.redraw(theta[1], candidates, rng)?;
            weigh(model, [theta[1], theta[0]], candidates, shares, uniforms, rng)?;
            let mut tries = candidates.chunks_exact(d).zip(&*shares).zip(&*uniforms);
            open.retain(|&j| {
                let Some(((candidate, &share), &uniform)) = tries.next() else { return true };
                let is_shared = uniform < share;
                if !is_shared {
                    second.parts_mut().0[rows[j] as usize * d..][..d].copy_from_slice(candidate);
                }
                is_shared
            });
        }
        Ok(())
    }
}

/// min(1, f(record | to) / f(record | from)) of each record, and a uniform for each.
fn weigh(
    model: &dyn Model,
    [from, to]: [&[f64]; 2],
    records: &[f64],
    shares: &mut Vec<f64>,
    uniforms: &mut Vec<f64>,
    rng: &mut Rng,
) -> Outcome {
    let count = records.len() / model.record_dim();
    shares.resize(count, 0.0);
    model.log_ratios(from, to, records, shares)?;
    Arch::new().dispatch(|| {
        for share in shares.iter_mut() {
            *share = exp(if *share < 0.0 { *share } else { 0.0 });
        }
    });
    uniforms.resize(count, 0.0);
    uniforms.iter_mut().for_each(|uniform| *uniform = rng.random());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nalgebra::DMatrix;

    use super::*;
    use crate::model::testing::{assert_follows, assert_mean, normal_cdf};
    use crate::model::{NormalInverseGamma, Regression};
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, query};
    use crate::rng;

    /// Proposals to each chain follow the model at its own theta, have the right statistics, and
    /// coincide with the largest possible probability.
    #[test]
    fn each_chain_is_proposed_records_of_its_own_law() {
        let prior =
            NormalInverseGamma::new(vec![0.0; 2], &DMatrix::identity(2, 2), 2.0, 2.0).unwrap();
        let model = Regression::new(vec![0.5], None, prior).unwrap();
        let query = Arc::new(query::Gram::with_range(1, (-8.0, 8.0)).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.5; 5]).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, 100, vec![0.0; 5]).unwrap();
        let thetas: [&[f64]; 2] = [&[0.0, 1.0, 1.0], &[0.7, 0.6, 2.0]];
        for shares in [false, true] {
            check(&model, thetas, &release, shares);
        }
    }

    /// Each sweep reuses the buffers of a sweep at other thetas, as in a chain whose theta moves.
    /// The batches are small, so that draws wrongly carried over would be a large part of the next
    /// batch.
    fn check(model: &Regression, thetas: [&[f64]; 2], release: &Release, shares: bool) {
        let before: [&[f64]; 2] = [&[0.5, -1.0, 1.0], &[2.0, 0.6, 1.5]];
        let mut buffers = Buffers::default();
        let mut rng = rng::stream(31, 0);
        let mut noises = [Vec::new(), Vec::new()];
        let mut predictors = [Vec::new(), Vec::new()];
        let (mut met, mut overlap) = (Vec::new(), Vec::new());
        for _ in 0..3_200 {
            let at = |thetas| CoupledProposals::new(model, thetas, release).sharing(shares);
            let mut other = at(before).within(buffers);
            other.draw(8, &mut rng).unwrap();
            let mut proposals = at(thetas).within(other.into_buffers());
            let size = proposals.draw(8, &mut rng).unwrap();
            for proposal in (0..size).map(|j| proposals.proposal(j)) {
                for (side, theta) in thetas.into_iter().enumerate() {
                    let [x, y] = proposal.records[side] else { panic!("two coordinates") };
                    noises[side].push((y - theta[0] - theta[1] * x) / theta[2].sqrt());
                    predictors[side].push(x - 0.5);
                    let mut statistic = [0.0; 5];
                    release.query().statistics(proposal.records[side], &mut statistic).unwrap();
                    let close = |(a, b): (&f64, &f64)| (a / 0.5 - b).abs() < 1e-12;
                    assert!(statistic.iter().zip(proposal.statistics[side]).all(close));
                }
                assert_eq!(proposal.is_common, proposal.records[0] == proposal.records[1]);
                let same = proposal.records[0][0] == proposal.records[1][0];
                assert_eq!(same, shares || proposal.is_common);
                met.push(f64::from(u8::from(proposal.is_common)));
                let [p, q] = thetas.map(|t| model.log_density(t, proposal.records[0]).unwrap());
                overlap.push((q - p).exp().min(1.0) - met[met.len() - 1]);
            }
            buffers = proposals.into_buffers();
        }
        for side in 0..2 {
            let products = noises[side].iter().zip(&predictors[side]).map(|(e, x)| e * x);
            assert_mean("noise by predictor", &products.collect::<Vec<f64>>(), 0.0);
            assert_follows("noise", &mut noises[side], normal_cdf);
            assert_follows("predictor", &mut predictors[side], normal_cdf);
        }
        assert_mean("overlap less meetings", &overlap, 0.0);
    }
}
