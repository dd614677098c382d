//! Offers to two chains at once.

use rand::RngExt;

use super::pair::Offer;
use crate::error::Outcome;
use crate::kernel::{BATCH, Batch, ModelOffers, Offers};
use crate::model::Model;
use crate::release::Release;
use crate::rng::Rng;

/// Offers to two chains: the same ones where their thetas are equal, and otherwise a maximal
/// coupling of the two laws f, drawn by rejection with their densities.
///
/// The rounds of rejection are made for a whole batch, one candidate in a round for each offer
/// that still needs one; there is no cap on them.
#[derive(Debug)]
pub(super) struct CoupledOffers<'a> {
    model: &'a dyn Model,
    theta: [&'a [f64]; 2],
    sources: [ModelOffers<'a>; 2],
    batches: [Batch; 2],
    spare: Batch,
    common: Vec<bool>,
    size: usize,
}

impl<'a> CoupledOffers<'a> {
    pub fn new(model: &'a dyn Model, theta: [&'a [f64]; 2], release: &'a Release) -> Self {
        CoupledOffers {
            model,
            theta,
            sources: theta.map(|theta| ModelOffers::new(model, theta, release)),
            batches: Default::default(),
            spare: Batch::default(),
            common: Vec::new(),
            size: BATCH.max(model.batch_size()).max(release.query().batch_size()),
        }
    }

    /// Calls `step` with each of `moves` offers, which are drawn in batches.
    pub fn for_each(
        &mut self,
        moves: usize,
        rng: &mut Rng,
        mut step: impl FnMut(usize, &Offer<'_>, &mut Rng),
    ) -> Outcome {
        let mut done = 0;
        while done < moves {
            let size = self.size.min(moves - done);
            self.fill(size, rng)?;
            for j in 0..size {
                let of = [0, usize::from(!self.common[j])];
                let offer = Offer {
                    records: of.map(|side| self.batches[side].record(j)),
                    statistics: of.map(|side| self.batches[side].statistic(j)),
                    is_common: self.common[j],
                };
                step(done + j, &offer, rng);
            }
            done += size;
        }
        Ok(())
    }

    fn fill(&mut self, size: usize, rng: &mut Rng) -> Outcome {
        let CoupledOffers { model, theta, sources, batches: [first, second], .. } = self;
        sources[0].fill(size, first, rng)?;
        self.common.clear();
        if theta[0] == theta[1] {
            self.common.resize(size, true);
            return Ok(());
        }
        let mut open = Vec::new();
        for j in 0..size {
            let y = first.record(j);
            let (p, q) = (model.log_density(theta[0], y)?, model.log_density(theta[1], y)?);
            let is_common = p <= q || rng.random::<f64>() < (q - p).exp();
            self.common.push(is_common);
            if !is_common {
                open.push(j);
            }
        }
        second.resize(size, first.record(0).len(), first.statistic(0).len());
        while !open.is_empty() {
            sources[1].fill(open.len(), &mut self.spare, rng)?;
            let mut left = Vec::new();
            for (candidate, &j) in open.iter().enumerate() {
                let y = self.spare.record(candidate);
                let (p, q) = (model.log_density(theta[0], y)?, model.log_density(theta[1], y)?);
                if q > p && rng.random::<f64>() >= (p - q).exp() {
                    second.copy_row(j, &self.spare, candidate);
                } else {
                    left.push(j);
                }
            }
            open = left;
        }
        Ok(())
    }
}
