//! The cells of a model written as text.

use std::sync::Arc;

use rand::RngExt;
use rand_distr::StandardNormal;
use soma_language::{RecordCells, Statistics};

use crate::counts::shares::{CellModel, sum_to_one};
use crate::distribution::normal_between;
use crate::numeric::workspace::run;
use crate::release::query::Axis;
use crate::rng::Rng;

/// The log probability of a cell without any. It is far below those that can be computed, so that there
/// is no plateau on which chains that start far out stay, and finite, so that records leave the cell.
const LEAST: f64 = -1e12;

/// Prior draws among which the start of a chain is chosen.
const STARTS: usize = 16;

/// The most prior draws until there are as many whose cells can be computed.
const MOST_STARTS: usize = 4096;

/// A record that is described by a text, observed by its cell. theta is the unconstrained parameters.
#[derive(Debug)]
pub struct TextCells {
    text: Arc<soma_language::Model>,
    cells: RecordCells,
    /// The rows of each cell of the table.
    rows: Vec<Vec<usize>>,
    /// The cell of the table that each cell of the record is.
    places: Vec<usize>,
}

impl TextCells {
    /// The `cells` of records of `text`.
    pub fn new(text: Arc<soma_language::Model>, cells: RecordCells) -> Self {
        let places: Vec<usize> = (0..cells.count()).collect();
        let count = places.len();
        TextCells::placed(text, cells, places, count)
    }

    /// The cells of a table with these `axes`, if records of `text` can be sorted into it. Some may hold
    /// no record of the model.
    pub fn of_axes(text: &Arc<soma_language::Model>, axes: &[Axis]) -> Option<Self> {
        let statistics = Statistics::new(&[index(&text.record_names(), axes)?], text).ok()?;
        let cells = RecordCells::new(text, &[&statistics]).ok()?;
        let places = cells.values().iter().map(|values| values[0] as usize).collect();
        let count = axes.iter().map(|axis| axis.labels.len()).product();
        Some(TextCells::placed(Arc::clone(text), cells, places, count))
    }

    fn placed(
        text: Arc<soma_language::Model>,
        cells: RecordCells,
        places: Vec<usize>,
        count: usize,
    ) -> Self {
        let mut rows = vec![Vec::new(); count];
        let of_rows = cells.cell_of_row().iter().enumerate();
        of_rows.for_each(|(row, &cell)| rows[places[cell]].push(row));
        TextCells { text, cells, rows, places }
    }

    fn constrained(&self, theta: &[f64]) -> Vec<f64> {
        let mut constrained = vec![0.0; theta.len()];
        run(|workspace| self.text.constrain(theta, &mut constrained, workspace));
        constrained
    }
}

/// The number of the cell of a table, as text, of records of these coordinates.
fn index(names: &[String], axes: &[Axis]) -> Option<String> {
    let is_points = axes.len() == names.len() && axes.iter().all(|axis| axis.cuts.is_some());
    if !is_points && (axes.len() != 1 || names.len() != 1) {
        return None;
    }
    let mut text = String::from("0");
    for (name, axis) in names.iter().zip(axes) {
        let count = axis.labels.len();
        // A record is the number of its cell, and beyond the last one in the last one.
        let whole = || (1..count).map(|level| level as f64 - 0.5).collect();
        let cuts = axis.cuts.clone().unwrap_or_else(whole);
        let level: String = cuts.iter().map(|cut| format!(" + ({name} >= {cut})")).collect();
        text = format!("({text}) * {count}{level}");
    }
    Some(text)
}

impl CellModel for TextCells {
    fn parameters(&self) -> Vec<String> {
        self.text.parameters()
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        self.constrained(theta)
    }

    fn dim(&self) -> usize {
        self.text.theta_dim()
    }

    fn cells(&self) -> usize {
        self.rows.len()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        let log = run(|workspace| self.text.log_prior_free(theta, workspace));
        if log.is_nan() { f64::NEG_INFINITY } else { log }
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        let mut constrained = vec![0.0; theta.len()];
        run(|workspace| {
            self.text.sample_prior(&mut constrained, rng, workspace);
            self.text.unconstrain(&constrained, theta, workspace);
        });
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let theta = self.constrained(theta);
        let mut logs = vec![0.0; self.cells.count()];
        run(|workspace| self.cells.log_probabilities(&theta, &mut logs, workspace));
        if !sum_to_one(&logs) {
            out.fill(f64::NAN);
            return;
        }
        // A cell of the table that holds no record of the model has no place.
        out.fill(LEAST);
        self.places.iter().zip(logs).for_each(|(&place, log)| out[place] = log.max(LEAST));
    }

    fn cell_of(&self, record: &[f64]) -> Option<usize> {
        Some(self.places[self.cells.cell_of(record)])
    }

    fn record_dim(&self) -> usize {
        self.text.record_dim()
    }

    /// Each record from one of the rows of its cell, by the noise that leads into the row.
    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let theta = self.constrained(theta);
        let mut logs = vec![0.0; self.cells.rows()];
        run(|workspace| self.cells.log_probabilities_of_rows(&theta, &mut logs, workspace));
        let ends = run(|workspace| self.cells.noise_of_rows(&theta, workspace));
        let width = ends.len() / logs.len();
        let (mut chosen, mut noise) = (Vec::new(), Vec::new());
        for (rows, &count) in self.rows.iter().zip(counts) {
            let Some(first) = rows.first() else { continue };
            let most = rows.iter().map(|&row| logs[row]).fold(f64::NEG_INFINITY, f64::max);
            let weight =
                |&row: &usize| if most.is_finite() { (logs[row] - most).exp() } else { 1.0 };
            let total: f64 = rows.iter().map(weight).sum();
            for _ in 0..count {
                let mut left = total * rng.random::<f64>();
                let row = rows.iter().find(|row| {
                    left -= weight(row);
                    left < 0.0
                });
                let row = *row.unwrap_or(first);
                chosen.push(row);
                let own = ends[row * width..][..width].chunks_exact(2);
                noise.extend(own.map(|ends| match (ends[0], ends[1]) {
                    (f64::NEG_INFINITY, f64::INFINITY) => rng.sample(StandardNormal),
                    (low, high) => normal_between(low, high, rng),
                }));
            }
        }
        let dim = self.text.record_dim();
        let mut records = vec![0.0; chosen.len() * dim];
        run(|workspace| self.text.forward(&theta, &noise, &mut records, workspace));
        for (record, row) in records.chunks_exact_mut(dim).zip(chosen) {
            self.cells.mend(row, record);
        }
        records
    }

    /// The prior draw, of some whose cells can be computed, that fits the shares best.
    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let (mut one, mut logs) = (theta.to_vec(), vec![0.0; shares.len()]);
        let mut best = f64::NEG_INFINITY;
        let mut computed = 0;
        for k in 0..MOST_STARTS {
            self.sample_prior(&mut one, rng);
            self.log_shares(&one, &mut logs);
            let fit: f64 = shares.iter().zip(&logs).map(|(share, log)| share * log).sum();
            computed += usize::from(!fit.is_nan());
            if k == 0 || fit > best {
                best = if fit.is_nan() { best } else { fit };
                theta.copy_from_slice(&one);
            }
            if computed == STARTS {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use soma_language::Data;

    use super::*;
    use crate::counts::redraw::add_multinomial;
    use crate::rng::stream;

    /// Counts drawn from the cells' probabilities, and records from the counts: the means of products
    /// of the coordinates are those of records of the model.
    #[test]
    fn records_given_their_cells_have_the_law_of_the_model() {
        for (parameters, record, texts, theta) in [
            (
                "m ~ gamma(2, 1)",
                "x ~ poisson(m)\nz ~ normal(x, 1)",
                &["clamp(x, 0, 3)"][..],
                &[1.4][..],
            ),
            ("m ~ gamma(2, 1)", "x ~ gamma(m, 1)\nz ~ binomial(3, 0.4)", &["x > 1", "z"], &[1.4]),
            (
                "m ~ normal(0, 1)\nb ~ normal(0, 1)",
                "g ~ bernoulli(0.4)\nx ~ normal(m + b * g, 1)",
                &["x > 0.5", "g * (x > -1)"],
                &[0.3, -0.8],
            ),
        ] {
            let text =
                Arc::new(soma_language::Model::new(parameters, record, &Data::new()).unwrap());
            let statistics = Statistics::new(texts, &text).unwrap();
            let cells = RecordCells::new(&text, &[&statistics]).unwrap();
            let model = TextCells::new(Arc::clone(&text), cells);
            let mut rng = stream(6, 0);
            const N: usize = 400_000;
            let (mut free, mut logs) = (theta.to_vec(), vec![0.0; model.cells()]);
            run(|workspace| text.unconstrain(theta, &mut free, workspace));
            model.log_shares(&free, &mut logs);
            let shares: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
            let mut counts = vec![0; shares.len()];
            add_multinomial(N as i64, &shares, &mut counts, &mut rng);
            let found = model.records(&free, &counts, &mut rng);
            let mut expected = vec![0.0; N * text.record_dim()];
            run(|workspace| text.propose(theta, &mut expected, &mut rng, workspace));
            let functions: [fn(&[f64]) -> f64; 5] =
                [|r| r[0], |r| r[1], |r| r[0] * r[0], |r| r[1] * r[1], |r| r[0] * r[1]];
            for (k, function) in functions.into_iter().enumerate() {
                let moments = |records: &[f64]| {
                    let values = || records.chunks_exact(2).map(function);
                    let mean = values().sum::<f64>() / N as f64;
                    let variance = values().map(|x| (x - mean) * (x - mean)).sum::<f64>();
                    (mean, variance / (N * N) as f64)
                };
                let (a, b) = (moments(&found), moments(&expected));
                let limit = 4.5 * (a.1 + b.1).sqrt();
                assert!((a.0 - b.0).abs() < limit, "{record}, {k}: {a:?}, not {b:?}");
            }
        }
    }
}
