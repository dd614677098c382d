//! Offers to two chains at once.

use rand::RngExt;

use super::pair::Offer;
use crate::error::Outcome;
use crate::kernel::shape::outlasts;
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
    ratios: Vec<f64>,
    /// Offers of which the second chain needs one of its own.
    open: Vec<usize>,
    /// Those that still need one: their number among the open ones, and among all.
    rows: Vec<(usize, usize)>,
    candidates: Vec<f64>,
    size: usize,
    shares: bool,
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
            ratios: Vec::new(),
            open: Vec::new(),
            rows: Vec::new(),
            candidates: Vec::new(),
            size: BATCH.max(model.batch_size()).max(release.query().batch_size()),
            shares: false,
        }
    }

    /// The same; offers that differ have those parts in common whose law is the same at every
    /// theta, if `shares`.
    pub fn sharing(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// Offer j of the batch that was drawn last.
    #[inline(always)]
    pub fn offer(&self, j: usize) -> Offer<'_> {
        let of = [0, usize::from(!self.common[j])];
        Offer {
            records: [self.batches[of[0]].record(j), self.batches[of[1]].record(j)],
            statistics: [self.batches[of[0]].statistic(j), self.batches[of[1]].statistic(j)],
            is_common: self.common[j],
        }
    }

    /// Draws a batch of at most `left` offers. Returns how many there are in it.
    pub fn draw(&mut self, left: usize, rng: &mut Rng) -> Outcome<usize> {
        let size = self.size.min(left);
        let CoupledOffers { model, theta, sources, batches: [first, second], .. } = self;
        let (common, ratios, spare) = (&mut self.common, &mut self.ratios, &mut self.spare);
        let (open, rows, candidates) = (&mut self.open, &mut self.rows, &mut self.candidates);
        sources[0].fill(size, first, rng)?;
        common.clear();
        common.resize(size, true);
        if theta[0] == theta[1] {
            return Ok(size);
        }
        ratios.resize(size, 0.0);
        model.log_ratios(theta[0], theta[1], first.records(), &mut ratios[..size])?;
        open.clear();
        for (j, &ratio) in ratios[..size].iter().enumerate() {
            if ratio < 0.0 && !outlasts(-ratio, rng.random()) {
                common[j] = false;
                open.push(j);
            }
        }
        if open.is_empty() {
            return Ok(size);
        }
        // Only what is taken is ever made a statistic of.
        let d = first.record(0).len();
        second.resize(size, d, first.statistic(0).len());
        spare.resize(open.len(), d, first.statistic(0).len());
        rows.clear();
        rows.extend(open.iter().enumerate().map(|(row, &j)| (row, j)));
        while !rows.is_empty() {
            candidates.clear();
            rows.iter().for_each(|&(_, j)| candidates.extend_from_slice(first.record(j)));
            if self.shares {
                model.redraw(theta[1], candidates, rng)?;
            } else {
                model.propose(theta[1], candidates, rng)?;
            }
            let ratios = &mut ratios[..rows.len()];
            model.log_ratios(theta[0], theta[1], candidates, ratios)?;
            let mut tries = candidates.chunks_exact(d).zip(ratios.iter());
            rows.retain(|&(row, _)| {
                let Some((candidate, &ratio)) = tries.next() else { return true };
                let beyond = ratio > 0.0 && !outlasts(ratio, rng.random());
                if beyond {
                    spare.parts_mut().0[row * d..][..d].copy_from_slice(candidate);
                }
                !beyond
            });
        }
        sources[1].complete(spare)?;
        open.iter().enumerate().for_each(|(row, &j)| second.copy_row(j, spare, row));
        Ok(size)
    }
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

    /// Offers to each chain follow the model at its own theta, with the statistics that belong to
    /// them, and are the same as often as they can be.
    #[test]
    fn each_chain_is_offered_records_of_its_own_law() {
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

    fn check(model: &Regression, thetas: [&[f64]; 2], release: &Release, shares: bool) {
        let mut offers = CoupledOffers::new(model, thetas, release).sharing(shares);
        let mut rng = rng::stream(31, 0);
        let mut noises = [Vec::new(), Vec::new()];
        let mut predictors = [Vec::new(), Vec::new()];
        let (mut met, mut overlap) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let size = offers.draw(64, &mut rng).unwrap();
            for offer in (0..size).map(|j| offers.offer(j)) {
                for (side, theta) in thetas.into_iter().enumerate() {
                    let [x, y] = offer.records[side] else { panic!("two coordinates") };
                    noises[side].push((y - theta[0] - theta[1] * x) / theta[2].sqrt());
                    predictors[side].push(x - 0.5);
                    let mut statistic = [0.0; 5];
                    release.query().statistics(offer.records[side], &mut statistic).unwrap();
                    let close = |(a, b): (&f64, &f64)| (a / 0.5 - b).abs() < 1e-12;
                    assert!(statistic.iter().zip(offer.statistics[side]).all(close));
                }
                assert_eq!(offer.is_common, offer.records[0] == offer.records[1]);
                let same = offer.records[0][0] == offer.records[1][0];
                assert_eq!(same, shares || offer.is_common);
                met.push(f64::from(u8::from(offer.is_common)));
                let [p, q] = thetas.map(|t| model.log_density(t, offer.records[0]).unwrap());
                overlap.push((q - p).exp().min(1.0) - met[met.len() - 1]);
            }
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
