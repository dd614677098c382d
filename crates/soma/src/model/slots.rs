//! A model of slots, each with a record or empty.

use std::sync::Arc;

use rand::RngExt;

use super::{Model, Price};
use crate::error::{Invalid, Outcome};
use crate::release::Release;
use crate::rng::Rng;

/// A model of slots: the first number of a slot is 1 (occupied) with probability `share`, and 0
/// (empty) otherwise; the others are a record drawn from the model, which counts only if the slot
/// is occupied. Occupancy does not depend on theta.
///
/// What an empty slot contains means nothing: a sweep replaces the whole slot, and theta is updated
/// given the records that are present.
#[derive(Debug)]
pub(crate) struct Slots {
    inner: Arc<dyn Model>,
    share: f64,
    /// The release with the likely number of records.
    likely: Release,
}

impl Slots {
    /// Slots of `inner`, for a release with an unknown number of records.
    pub(crate) fn new(inner: Arc<dyn Model>, share: f64, likely: Release) -> Self {
        Slots { inner, share, likely }
    }

    /// The records of the selected slots, concatenated.
    fn contents(&self, slots: &[f64], is_wanted: impl Fn(f64) -> bool) -> Vec<f64> {
        let rows = slots.chunks_exact(self.record_dim()).filter(|slot| is_wanted(slot[0]));
        rows.flat_map(|slot| slot[1..].iter().copied()).collect()
    }

    /// Writes records to the selected slots, in turn.
    fn put(&self, slots: &mut [f64], contents: &[f64], is_wanted: impl Fn(f64) -> bool) {
        let d = self.record_dim();
        let rows = slots.chunks_exact_mut(d).filter(|slot| is_wanted(slot[0]));
        rows.zip(contents.chunks_exact(d - 1))
            .for_each(|(slot, own)| slot[1..].copy_from_slice(own));
    }
}

impl Model for Slots {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn record_dim(&self) -> usize {
        self.inner.record_dim() + 1
    }

    fn parameters(&self) -> Vec<String> {
        self.inner.parameters()
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        self.inner.check_theta(theta)
    }

    fn supports(&self, record: &[f64]) -> bool {
        (record[0] == 0.0 || record[0] == 1.0) && self.inner.supports(&record[1..])
    }

    fn show(&self, records: &mut [f64]) {
        let mut contents = self.contents(records, |_| true);
        self.inner.show(&mut contents);
        self.put(records, &contents, |_| true);
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.inner.sample_prior(theta, rng)
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        self.inner.log_prior(theta)
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let d = self.record_dim();
        let mut contents = vec![0.0; records.len() / d * (d - 1)];
        self.inner.propose(theta, &mut contents, rng)?;
        self.put(records, &contents, |_| true);
        for slot in records.chunks_exact_mut(d) {
            slot[0] = f64::from(u8::from(rng.random_bool(self.share)));
        }
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let held = if record[0] == 1.0 { self.share.ln() } else { (-self.share).ln_1p() };
        Ok(held + self.inner.log_density(theta, &record[1..])?)
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        self.inner.log_ratios(from, to, &self.contents(records, |_| true), ratios)
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        self.inner.update(theta, &self.contents(records, |held| held == 1.0), rng)
    }

    fn start(&self, _: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.inner.start(&self.likely, theta, rng)
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn price(&self, n: usize) -> Price {
        self.inner.price(n)
    }

    fn describe(&self) -> Option<String> {
        self.inner.describe()
    }
}
