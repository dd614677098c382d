//! A model of slots, each with a record or empty.

use std::sync::Arc;

use rand::RngExt;

use super::{Carry, Model, Price, Transport};
use crate::error::{Invalid, Outcome};
use crate::release::Release;
use crate::rng::Rng;

/// A model of slots: the first number of a slot is 1 (occupied) with probability `share`, and 0
/// (empty) otherwise; the others are a record drawn from the model, which counts only if the slot
/// is occupied. Occupancy does not depend on theta.
///
/// The record of an empty slot is a draw from the model at theta, of which the release is
/// independent. It allows joint moves of theta and all records. An update of theta given the
/// records leaves it out, and redraws it afterwards ([`refresh_unseen`](Model::refresh_unseen)).
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

    fn refresh_unseen(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let d = self.record_dim();
        let empty = records.chunks_exact(d).filter(|slot| slot[0] == 0.0).count();
        let mut contents = vec![0.0; empty * (d - 1)];
        self.inner.propose(theta, &mut contents, rng)?;
        self.put(records, &contents, |held| held == 0.0);
        Ok(())
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

    fn transport(&self) -> Option<&dyn Transport> {
        self.inner.transport().map(|_| self as &dyn Transport)
    }

    fn carry(&self) -> Option<&dyn Carry> {
        self.inner.carry().map(|_| self as &dyn Carry)
    }
}

impl Carry for Slots {
    fn carry_records(
        &self,
        theta: &[f64],
        new_theta: &[f64],
        records: &[f64],
        carried: &mut [f64],
    ) -> Outcome {
        let Some(inner) = self.inner.carry() else { return Ok(()) };
        let contents = self.contents(records, |_| true);
        let mut moved = vec![0.0; contents.len()];
        inner.carry_records(theta, new_theta, &contents, &mut moved)?;
        carried.copy_from_slice(records);
        self.put(carried, &moved, |_| true);
        Ok(())
    }
}

/// The unconstrained theta is the inner model's. Occupancy is part of the noise, and is fixed.
impl Transport for Slots {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        if let Some(inner) = self.inner.transport() {
            inner.unconstrain(theta, free);
        }
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        if let Some(inner) = self.inner.transport() {
            inner.constrain(free, theta);
        }
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        self.inner.transport().map_or(0.0, |inner| inner.log_prior_free(free))
    }

    fn noise_dim(&self) -> usize {
        1 + self.inner.transport().map_or(0, |inner| inner.noise_dim())
    }

    fn is_standard(&self) -> bool {
        false
    }

    fn is_smooth(&self) -> bool {
        false
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        let Some(inner) = self.inner.transport() else { return Ok(()) };
        let m = self.noise_dim();
        let own: Vec<f64> =
            noise.chunks_exact(m).flat_map(|row| row[1..].iter().copied()).collect();
        let d = self.record_dim();
        let mut contents = vec![0.0; records.len() / d * (d - 1)];
        inner.forward(theta, &own, &mut contents)?;
        self.put(records, &contents, |_| true);
        let flags = records.chunks_exact_mut(d).zip(noise.chunks_exact(m));
        flags.for_each(|(slot, row)| slot[0] = row[0]);
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        let Some(inner) = self.inner.transport() else { return Ok(()) };
        let mut own = vec![0.0; noise.len() / self.noise_dim() * inner.noise_dim()];
        inner.inverse(theta, &self.contents(records, |_| true), &mut own)?;
        self.put_noise(records, &own, noise);
        Ok(())
    }

    fn draw_noise(
        &self,
        theta: &[f64],
        records: &[f64],
        noise: &mut [f64],
        rng: &mut Rng,
    ) -> Outcome {
        let Some(inner) = self.inner.transport() else { return Ok(()) };
        let mut own = vec![0.0; noise.len() / self.noise_dim() * inner.noise_dim()];
        inner.draw_noise(theta, &self.contents(records, |_| true), &mut own, rng)?;
        self.put_noise(records, &own, noise);
        Ok(())
    }
}

impl Slots {
    /// Writes the occupancy of each slot and the noise of its record to rows of noise.
    fn put_noise(&self, records: &[f64], own: &[f64], noise: &mut [f64]) {
        let m = self.noise_dim();
        let slots = records.chunks_exact(self.record_dim());
        let rows = noise.chunks_exact_mut(m).zip(slots).zip(own.chunks_exact(m - 1));
        for ((row, slot), own) in rows {
            row[0] = slot[0];
            row[1..].copy_from_slice(own);
        }
    }
}
