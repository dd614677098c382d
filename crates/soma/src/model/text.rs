//! A model written as text.

mod newton;

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock};

use rand::RngExt;
use soma_language::{Data, Given, Mistakes, Noise};

use self::newton::Point;
use super::slice::slice_move;
use super::{Computed, Model, Price, Recipe, Transport, Values};
use crate::counts::models::TextCells;
use crate::counts::{Partition, Shares};
use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::numeric::workspace::run;
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::{self, Rng};

/// A model described by the text of its parameters and of its record (`docs/language.md`).
///
/// theta given the records is updated by Newton proposals and by slice sampling along unconstrained
/// parameters, which are exact and need no tuning. A record is a function of theta and standard
/// normal noise, with jumps if a variable is discrete, so all joint theta updates apply.
pub struct Text {
    text: Arc<soma_language::Model>,
    computed: Computed,
    /// The approximate width of the prior of each unconstrained parameter.
    widths: Vec<f64>,
    /// The price for the number of records that was asked for first: it is asked for several times an
    /// iteration.
    price: OnceLock<(usize, Price)>,
}

impl Debug for Text {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.debug_struct("Text").field("parameters", &self.text.parameters()).finish_non_exhaustive()
    }
}

/// Prior draws from which the widths are estimated.
const DRAWS: usize = 101;

/// Rounds of slice moves per update of a model without Newton proposals.
const ROUNDS: usize = 2;

/// Density evaluations per slice move.
const SLICE_DENSITIES: f64 = 6.0;

impl Text {
    /// The model of two texts and their constants.
    pub fn new(parameters: &str, record: &str, data: &Data) -> Result<Self, Mistakes> {
        let text = soma_language::Model::new(parameters, record, data)?;
        let (widths, text) = (widths(&text), Arc::new(text));
        let computed = Computed::of(&text);
        Ok(Text { text, computed, widths, price: OnceLock::new() })
    }

    /// The model with these names alone of those that its parameters compute as outputs.
    pub fn with_outputs(self, names: &[String]) -> Result<Self, Invalid> {
        Ok(Text { computed: Computed::of_names(&self.text, names)?, ..self })
    }

    /// The compiled text.
    pub fn text(&self) -> &soma_language::Model {
        &self.text
    }

    /// Slice moves along these unconstrained coordinates.
    fn slice(
        &self,
        free: &mut [f64],
        coordinates: &[usize],
        (given, n): (Given, usize),
        rng: &mut Rng,
    ) -> Outcome {
        let log_density = |free: &[f64]| {
            let log = run(|workspace| self.text.log_density_free(free, given, workspace));
            if log.is_nan() { f64::NEG_INFINITY } else { log }
        };
        let narrowed = (n as f64 + 1.0).sqrt();
        let mut current = log_density(free);
        if !current.is_finite() {
            return Ok(());
        }
        for &c in coordinates {
            interrupt::check()?;
            let from = free[c];
            let moved = |step: f64| {
                free[c] = from + step;
                log_density(free)
            };
            let (step, density) = slice_move(current, 3.0 * self.widths[c] / narrowed, moved, rng)?;
            free[c] = from + step;
            current = density;
        }
        Ok(())
    }

    fn price_of(&self, n: usize) -> Price {
        let each = self.text.nanoseconds(n);
        let p = self.widths.len() as f64;
        let (newton, slices) = match each.posterior {
            Some(posterior) => (posterior, p.min(1.0)),
            None => (0.0, ROUNDS as f64 * p),
        };
        // The derivatives at the present point, and at the proposal.
        let update = each.sums + 2.0 * newton + SLICE_DENSITIES * slices * each.density;
        // In units of ten nanoseconds.
        let [draw, update, build, inverse] =
            [each.propose, update, each.forward, each.inverse].map(|time| 0.1 * time);
        Price { draw, update, build, inverse }
    }

    fn is_smooth(&self) -> bool {
        self.text.noise().iter().all(|noise| *noise == Noise::Smooth)
    }
}

/// The interquartile range of prior draws of each unconstrained parameter.
fn widths(text: &soma_language::Model) -> Vec<f64> {
    let p = text.theta_dim();
    let (mut theta, mut free, mut rng) = (vec![0.0; p], vec![0.0; p], rng::stream(0, 0));
    let mut columns = vec![Vec::with_capacity(DRAWS); p];
    for _ in 0..DRAWS {
        run(|workspace| {
            text.sample_prior(&mut theta, &mut rng, workspace);
            text.unconstrain(&theta, &mut free, workspace);
        });
        columns.iter_mut().zip(&free).for_each(|(column, x)| column.push(*x));
    }
    let width = |mut column: Vec<f64>| {
        column.sort_unstable_by(f64::total_cmp);
        let width = column[3 * DRAWS / 4] - column[DRAWS / 4];
        if width.is_finite() && width > 0.0 { width } else { 1.0 }
    };
    columns.into_iter().map(width).collect()
}

impl Model for Text {
    fn kind(&self) -> &'static str {
        "text"
    }

    fn record_dim(&self) -> usize {
        self.text.record_dim()
    }

    fn record_names(&self) -> Option<Vec<String>> {
        Some(self.text.record_names())
    }

    fn record_values(&self) -> Option<Vec<Values>> {
        Some(self.text.record_values())
    }

    fn parameters(&self) -> Vec<String> {
        self.text.parameters()
    }

    fn computed(&self) -> Option<&Computed> {
        Some(&self.computed)
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        run(|workspace| self.text.check_theta(theta, workspace)).map_err(|found| {
            Invalid::new(
                found.parameter,
                "is outside the support of the prior",
                found.given,
                found.allowed,
            )
        })
    }

    fn supports(&self, record: &[f64]) -> bool {
        let facts = self.text.record_facts();
        record.iter().zip(facts).all(|(x, fact)| {
            x.is_finite()
                && *x >= fact.low
                && *x <= fact.high
                && (!fact.integer || x.fract() == 0.0)
        })
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        run(|workspace| self.text.sample_prior(theta, rng, workspace));
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(run(|workspace| self.text.log_prior(theta, workspace)))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        run(|workspace| self.text.propose(theta, records, rng, workspace));
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let mut density = [0.0];
        run(|workspace| self.text.log_densities(theta, record, &mut density, workspace));
        Ok(density[0])
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        run(|workspace| self.text.log_ratios(from, to, records, ratios, workspace));
        Ok(())
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        let mut free = theta.to_vec();
        self.unconstrain(theta, &mut free);
        // A parameter that is rounded to a bound has no unconstrained value.
        if !free.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let (p, n) = (free.len(), records.len() / self.record_dim());
        let mut sums = Vec::new();
        let given = match run(|workspace| self.text.sums(records, &mut sums, workspace)) {
            true => Given::Sums(&sums),
            false => Given::Records(records),
        };
        // A Newton proposal, and for laws that are far from normal a slice move along one coordinate.
        let coordinates = if self.text.has_log_posterior() {
            interrupt::check()?;
            if let Some(point) = Point::new(&self.text, free.clone(), given) {
                free = point.step(&self.text, given, rng)?.free;
            }
            if p > 0 { vec![rng.random_range(0..p)] } else { Vec::new() }
        } else {
            (0..ROUNDS * p).map(|k| k % p).collect()
        };
        self.slice(&mut free, &coordinates, (given, n), rng)?;
        self.constrain(&free, theta);
        Ok(())
    }

    fn price(&self, n: usize) -> Price {
        let (known, price) = *self.price.get_or_init(|| (n, self.price_of(n)));
        if known == n { price } else { self.price_of(n) }
    }

    fn describe(&self) -> Option<String> {
        Some(self.text.describe())
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Text(Arc::clone(&self.text)))
    }

    fn partition(&self, release: &Release) -> Option<Result<Partition, String>> {
        Partition::of_text(&self.text, release)
    }

    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        TextCells::of_axes(&self.text, axes).map(Shares::of)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }
}

impl Transport for Text {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        run(|workspace| self.text.unconstrain(theta, free, workspace));
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        run(|workspace| self.text.constrain(free, theta, workspace));
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        run(|workspace| self.text.log_prior_free(free, workspace))
    }

    fn log_prior_free_gradient(&self, free: &[f64], gradient: &mut [f64]) {
        run(|workspace| self.text.log_prior_free_gradient(free, gradient, workspace));
    }

    fn prior_widths(&self) -> Option<&[f64]> {
        Some(&self.widths)
    }

    fn affine(&self, theta: &[f64], shift: &mut [f64], factor: &mut [f64]) -> bool {
        run(|workspace| self.text.affine(theta, shift, factor, workspace))
    }

    fn noise_dim(&self) -> usize {
        self.text.noise().len()
    }

    fn is_smooth(&self) -> bool {
        Text::is_smooth(self)
    }

    fn may_bend(&self) -> bool {
        true
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        run(|workspace| self.text.forward(theta, noise, records, workspace));
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        if !Text::is_smooth(self) {
            return Err("a discrete variable of the record has no noise of its own".into());
        }
        // Nothing is drawn if all variables are continuous.
        self.draw_noise(theta, records, noise, &mut rng::stream(0, 0))
    }

    fn draw_noise(
        &self,
        theta: &[f64],
        records: &[f64],
        noise: &mut [f64],
        rng: &mut Rng,
    ) -> Outcome {
        run(|workspace| self.text.inverse(theta, records, noise, rng, workspace));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::*;

    const LOGISTIC: (&str, &str) = (
        "b0 ~ normal(0, 2.5)\nb1 ~ normal(0, 2.5)\nm ~ normal(50, 20)\ns ~ half_normal(20)",
        "age ~ normal(m, s)\nvoted ~ bernoulli(logistic(b0 + b1 * (age - 50) / 15))",
    );

    fn model((parameters, record): (&str, &str)) -> Text {
        Text::new(parameters, record, &Data::new()).unwrap()
    }

    #[test]
    fn updates_leave_the_law_of_theta_given_records_invariant() {
        let normal = model(("m ~ normal(0, 1)\ns ~ gamma(3, 2)", "x ~ normal(m, s)"));
        assert_prior(&normal, 20_000);
        assert_jacobian(&normal, &[vec![0.3, 0.7], vec![-2.0, 3.0]]);
        assert_proposals(&normal, &[0.3, 0.8], &[0.5, 0.7]);
        assert_update(&normal, &[0.0, 1.0], &[0.3, 1.9, -0.4, 0.8], 20_000);
        let records = [40.0, 1.0, 61.0, 0.0, 22.0, 1.0, 35.0, 0.0, 48.0, 1.0];
        assert_update(&model(LOGISTIC), &[0.0, 0.0, 45.0, 10.0], &records, 20_000);
    }

    #[test]
    fn records_are_functions_of_their_noise() {
        let skew = model(("m ~ normal(0, 1)\ns ~ gamma(3, 2)", "x ~ log_normal(m, s)"));
        assert!(skew.transport().unwrap().is_smooth());
        assert_transport(&skew, &[0.2, 0.6], &mut rng::stream(4, 1));
        assert!(!model(LOGISTIC).transport().unwrap().is_smooth());
        let logistic = model(LOGISTIC);
        let theta = [0.3, 0.8, 45.0, 12.0];
        let (mut records, mut noise, mut back) = ([0.0; 20], [0.0; 20], [0.0; 20]);
        let mut rng = rng::stream(3, 1);
        logistic.propose(&theta, &mut records, &mut rng).unwrap();
        logistic.draw_noise(&theta, &records, &mut noise, &mut rng).unwrap();
        logistic.forward(&theta, &noise, &mut back).unwrap();
        for (x, y) in records.iter().zip(&back) {
            assert!((x - y).abs() < 1e-9, "{x} {y}");
        }
        assert!(logistic.inverse(&theta, &records, &mut noise).is_err());
        assert!(logistic.supports(&records[..2]) && !logistic.supports(&[3.0, 0.5]));
    }
}
