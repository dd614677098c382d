//! A release with a model, and the requested outputs.

mod derived;
mod prior;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Derived;
use super::theta::SharedDensity;
use crate::counts::{CountProblem, Partition, Shares};
use crate::error::{Invalid, Outcome, listed};
use crate::kernel::Records;
use crate::model::Model;
use crate::model::slots::Slots;
use crate::release::Release;
use crate::release::query::{Axis, BATCH};
use crate::rng::Rng;

/// A function of all imputed records, for each coordinate of a record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Summary {
    /// The mean over the records.
    Mean,
    /// The standard deviation over the records.
    Sd,
    /// The quantile at this probability.
    Quantile(f64),
}

impl Summary {
    fn name(self, coordinate: usize) -> String {
        match self {
            Summary::Mean => format!("mean_x{coordinate}"),
            Summary::Sd => format!("sd_x{coordinate}"),
            Summary::Quantile(p) => format!("q{}_x{coordinate}", 100.0 * p),
        }
    }

    /// The summary of sorted values.
    fn of(self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let mean = || sorted.iter().sum::<f64>() / n;
        match self {
            Summary::Mean => mean(),
            Summary::Sd => {
                let centre = mean();
                let squares: f64 = sorted.iter().map(|x| (x - centre) * (x - centre)).sum();
                (squares / (n - 1.0).max(1.0)).sqrt()
            }
            Summary::Quantile(_) if sorted.is_empty() => f64::NAN,
            Summary::Quantile(p) => {
                let position = p * (n - 1.0);
                let (low, part) = (position.floor() as usize, position.fract());
                let high = (low + 1).min(sorted.len() - 1);
                sorted[low] * (1.0 - part) + sorted[high] * part
            }
        }
    }
}

/// A release with a model: the target of a chain.
#[derive(Debug, Clone)]
pub struct Problem {
    release: Release,
    /// The model of a record.
    given: Arc<dyn Model>,
    /// The model of the records of the release, or of slots if their number is unknown.
    model: Arc<dyn Model>,
    fixed: Option<Vec<f64>>,
    summaries: Vec<Summary>,
    derived: Option<Arc<Derived>>,
    /// The problem with counts of cells instead of records; or the reason why there is none.
    counts: Result<Arc<CountProblem>, String>,
    /// Whether the records are to be stored.
    wants_records: bool,
    shared_density: SharedDensity,
}

impl Problem {
    /// The posterior of the model's theta given the release. If the model has no parameters, of the
    /// mean and the standard deviation of the records.
    pub fn new(release: Release, model: Arc<dyn Model>) -> Result<Self, Invalid> {
        let slots = usize::from(release.slotted().is_some());
        let (has, needs) = (model.record_dim(), release.query().record_dim() - slots);
        if has != needs {
            return Err(Invalid::new(
                "model",
                "the model's records do not fit the query",
                format!("a {} model with records of dimension {has}", model.kind()),
                format!(
                    "records of dimension {needs}, as a {} query of {} values takes them",
                    release.query().kind(),
                    release.query().dim()
                ),
            ));
        }
        let given = model;
        let model = match release.slotted() {
            None => {
                given.check_release(&release)?;
                given.clone()
            }
            Some(slotted) => {
                given.check_release(slotted.likely())?;
                let likely = slotted.likely().clone();
                Arc::new(Slots::new(given.clone(), slotted.share(), likely))
            }
        };
        let shares = |axes: &[Axis]| given.cell_shares(axes);
        let name = given.record_names().and_then(|names| names.into_iter().next());
        let name = name.as_deref().unwrap_or("x");
        let partition = given.partition(&release);
        let counts = match partition.or_else(|| Partition::of_steps(&release, name, shares)) {
            Some(cells) => cells.and_then(|cells| CountProblem::of_partition(&release, cells)),
            None => CountProblem::of_release(&release, given.categories(), shares),
        };
        let is_layered = release.published_parts().iter().any(|part| part.layer().is_some());
        if let (true, Err(why)) = (is_layered, &counts) {
            return Err(Invalid::new(
                "release",
                "reports and synthetic records are fitted by the counts of cells",
                why,
                "one part with the values of all cells, n public, and a model that gives the cells' \
                 probabilities: categorical, log-linear, or normal, beta or exponential for a \
                 histogram",
            ));
        }
        let problem = Problem {
            release,
            given,
            model,
            fixed: None,
            summaries: Vec::new(),
            derived: None,
            counts: counts.map(Arc::new),
            wants_records: false,
            shared_density: SharedDensity::default(),
        };
        problem.check_computed()?;
        if problem.model.parameters().is_empty() {
            return problem.with_fixed(Vec::new(), vec![Summary::Mean, Summary::Sd]);
        }
        Ok(problem)
    }

    /// Fixes theta; the draws are then `summaries` of the records.
    pub fn with_fixed(mut self, theta: Vec<f64>, summaries: Vec<Summary>) -> Result<Self, Invalid> {
        let names = self.model.parameters();
        if theta.len() != names.len() {
            return Err(Invalid::new(
                "model.fixed",
                "the number of fixed values does not fit the model",
                format!("{} values", theta.len()),
                format!("{} values: {}", names.len(), listed(&names)),
            ));
        }
        self.model.check_theta(&theta).map_err(|invalid| invalid.under("model.fixed"))?;
        self.fixed = Some(theta);
        self.summaries = summaries;
        self.counts = Err("theta is held fixed, and the draws are summaries of records".into());
        Ok(self)
    }

    /// Says that the records are to be stored, which counts for the memory.
    pub fn with_records(self) -> Self {
        Problem { wants_records: true, ..self }
    }

    /// Whether records are to be stored.
    pub(super) fn wants_records(&self) -> bool {
        self.wants_records
    }

    /// What chains of this problem have learned of theta.
    pub(super) fn shared_density(&self) -> &SharedDensity {
        &self.shared_density
    }

    /// The problem with counts of cells instead of records; or the reason why there is none.
    pub fn counts(&self) -> Result<&CountProblem, String> {
        self.counts.as_deref().map_err(String::clone)
    }

    /// The cells that the outputs are counts of, whether or not a chain imputes records.
    pub(crate) fn cells(&self) -> Option<&CountProblem> {
        self.counts.as_deref().ok()
    }

    /// The same problem with another release.
    pub fn with_release(&self, release: Release) -> Result<Self, Invalid> {
        let mut other = Problem::new(release, self.given.clone())?;
        other.wants_records = self.wants_records;
        if let Some(theta) = &self.fixed {
            other = other.with_fixed(theta.clone(), self.summaries.clone())?;
        }
        other.derived = self.derived.clone();
        Ok(other)
    }

    /// The problem given that there are `n` records, where n is unknown.
    pub(super) fn of_present(&self, n: usize) -> Result<Problem, Invalid> {
        let slotted = self.release.slotted().expect("n is unknown");
        Ok(Problem {
            release: slotted.of_present(n)?,
            given: self.given.clone(),
            model: self.given.clone(),
            fixed: self.fixed.clone(),
            summaries: Vec::new(),
            derived: None,
            counts: Err("records are imputed".into()),
            wants_records: false,
            shared_density: SharedDensity::default(),
        })
    }

    /// The problem of the records that are present: this one, or if n is unknown the one with the
    /// likely number of records.
    pub(super) fn of_likely(&self) -> Result<Cow<'_, Problem>, Invalid> {
        Ok(match self.release.slotted() {
            None => Cow::Borrowed(self),
            Some(slotted) => Cow::Owned(self.of_present(slotted.likely().n())?),
        })
    }

    /// The release.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// The model of a record, whether or not the release is about slots for records.
    pub fn record_model(&self) -> &dyn Model {
        self.given.as_ref()
    }

    /// theta, if it is fixed.
    pub fn fixed(&self) -> Option<&[f64]> {
        self.fixed.as_deref()
    }

    /// The summaries of each coordinate of the records that are drawn where theta is fixed.
    pub fn summaries(&self) -> &[Summary] {
        &self.summaries
    }

    /// The names of the outputs without what is derived from the others.
    pub fn plain_outputs(&self) -> Vec<String> {
        if let Ok(counts) = &self.counts {
            return counts.outputs();
        }
        let mut names = match self.fixed {
            None => self.model.parameters(),
            Some(_) => {
                let coordinates = 1..=self.given.record_dim();
                coordinates.flat_map(|c| self.summaries.iter().map(move |s| s.name(c))).collect()
            }
        };
        if self.release.slotted().is_some() {
            names.push("n".into());
        }
        names
    }

    /// How many values a draw holds beside derived quantities.
    pub(crate) fn plain_output_count(&self) -> usize {
        if let (None, Ok(counts)) = (&self.fixed, &self.counts) {
            return counts.output_count();
        }
        let own = match self.fixed {
            None => self.model.parameters().len(),
            Some(_) => self.given.record_dim() * self.summaries.len(),
        };
        own + usize::from(self.release.slotted().is_some())
    }

    /// The outputs of a state.
    pub fn output(&self, theta: &[f64], records: &Records) -> Vec<f64> {
        self.with_derived(self.plain_output(theta, records))
    }

    fn plain_output(&self, theta: &[f64], records: &Records) -> Vec<f64> {
        if let Ok(counts) = &self.counts {
            return self.counted(counts, theta, records);
        }
        let d = self.model.record_dim();
        let slots = d - self.given.record_dim();
        let is_held = |row: &&[f64]| slots == 0 || row[0] == 1.0;
        let mut out = theta.to_vec();
        if self.fixed.is_some() {
            out.clear();
            for c in slots..d {
                let mut column = self.shown_column(records, c, &is_held);
                column.sort_unstable_by(f64::total_cmp);
                out.extend(self.summaries.iter().map(|summary| summary.of(&column)));
            }
        }
        if slots == 1 {
            out.push(records.all().chunks_exact(d).filter(is_held).count() as f64);
        }
        out
    }

    /// Simulates records from the model at theta. If their number is unknown, it is drawn from its
    /// prior.
    pub(crate) fn simulate_records(&self, theta: &[f64], rng: &mut Rng) -> Outcome<Vec<f64>> {
        let d = self.model.record_dim();
        let mut records = vec![0.0; self.release.n() * d];
        self.model.propose(theta, &mut records, rng)?;
        if let Some(slotted) = self.release.slotted() {
            let n = slotted.draw(rng);
            for (i, slot) in records.chunks_exact_mut(d).enumerate() {
                slot[0] = if i < n { 1.0 } else { 0.0 };
            }
        }
        Ok(records)
    }

    /// theta from the prior, or its fixed value.
    pub(crate) fn draw_theta(&self, rng: &mut Rng) -> Outcome<Vec<f64>> {
        let mut theta = vec![0.0; self.model.parameters().len()];
        match self.fixed() {
            Some(fixed) => theta.copy_from_slice(fixed),
            None => self.model.sample_prior(&mut theta, rng)?,
        }
        Ok(theta)
    }

    /// The problem whose values are those of a release of `records`, with the noise of `noise`.
    pub(crate) fn released(
        &self,
        records: &[f64],
        noise: &Release,
        rng: &mut Rng,
    ) -> Outcome<Self> {
        let (n, k) = (self.release.n(), self.release.query().dim());
        let mut statistics = vec![0.0; n * k];
        self.release.query().statistics(records, &mut statistics)?;
        let sum = |c| statistics.iter().skip(c).step_by(k).sum::<f64>();
        let sums: Vec<f64> = (0..k).map(sum).collect();
        Ok(self.with_release(self.release.with_values(&noise.publish(&sums, rng))?)?)
    }

    /// Coordinate c of all records that are present, in the user's units.
    fn shown_column(
        &self,
        records: &Records,
        c: usize,
        is_wanted: &impl Fn(&&[f64]) -> bool,
    ) -> Vec<f64> {
        let d = self.model.record_dim();
        let mut column = Vec::with_capacity(records.n());
        for some in records.all().chunks(d * BATCH) {
            let mut shown = some.to_vec();
            self.model.show(&mut shown);
            column.extend(shown.chunks_exact(d).filter(is_wanted).map(|row| row[c]));
        }
        column
    }

    /// The outputs of a chain of counts, computed from records.
    fn counted(&self, problem: &CountProblem, theta: &[f64], records: &Records) -> Vec<f64> {
        let parts = self.release.published_parts().iter();
        let cells = parts.filter_map(|part| part.query().cells()).next();
        // Where no part counts in cells, a record is the number of its category.
        let cell_of = |record: &[f64]| match (problem.shares(), &cells) {
            (Shares::Model(model), _) if let Some(cell) = model.cell_of(record) => cell,
            (_, Some(cells)) => cells.cell_of(record),
            (_, None) => record.first().map_or(0, |x| x.round() as usize),
        };
        let mut counts = vec![0; problem.table().cells()];
        let slots = self.model.record_dim() - self.given.record_dim();
        let each = records.all().chunks_exact(self.model.record_dim().max(1));
        let held = each.filter(|row| slots == 0 || row[0] == 1.0);
        held.for_each(|row| counts[cell_of(&row[slots..])] += 1);
        problem.output_of(theta, &counts)
    }

    /// The normalised log density of the released values given the records.
    pub fn log_density(&self, records: &Records) -> f64 {
        self.release.log_density(records.residual())
    }
}
