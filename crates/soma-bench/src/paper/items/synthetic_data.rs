//! Example 1: synthetic records from a perturbed histogram.

use rand::RngExt;
use soma::Outcome;
use soma::rng::Rng;
use soma_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use super::Item;
use crate::paper::settings::{BINS, beta_records, perturbed_counts};
use crate::paper::stats::{digits, mean_se};
use crate::paper::{Check, Findings, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "synthetic-data",
    title: "Synthetic records from a perturbed histogram",
    place: "Example 1",
    claim: "From a perturbed histogram one can also generate a sanitized database: clip the noisy \
            counts at zero, normalise, and draw records uniformly within bins.",
    run,
};

const RECORDS: usize = 1000;
const EPSILONS: [f64; 3] = [0.1, 1.0, 5.0];

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let repeats = study.pick(4, 400, 2000);
    let mut findings = Findings::new();
    findings.setting(format!(
        "{RECORDS} confidential records from Beta(10, 10), {BINS} bins, Laplace noise of scale \
         2 / epsilon, as many synthetic records; the numbers are over {repeats} repetitions."
    ));
    let mut table = Table::new(
        "synthetic-data",
        "Counts by bin: confidential, released, and of the synthetic records, in the repetition \
         shown.",
        &["epsilon", "bin", "confidential", "released", "synthetic"],
    );
    let mut panels = Vec::new();
    for epsilon in EPSILONS {
        let purpose = format!("synthetic-data/{epsilon}");
        let mut made =
            study.map(&purpose, repeats, |_, mut rng| Sanitised::new(epsilon, &mut rng))?;
        checks(&mut findings, epsilon, &made);
        let first = made.swap_remove(0);
        for bin in 0..BINS {
            table.row(vec![
                digits(epsilon, 2),
                (bin + 1).to_string(),
                first.confidential[bin].to_string(),
                digits(first.released[bin], 5),
                first.synthetic[bin].to_string(),
            ]);
        }
        panels.push(panel(epsilon, &first));
    }
    findings.table(table);
    let figure = Figure::new("Confidential, released and synthetic counts", panels)
        .key("confidential counts", CONFIDENTIAL)
        .key("released counts", RELEASED)
        .key("synthetic records", SYNTHETIC);
    findings.figure(
        "synthetic-data",
        "Counts of ten bins: of the confidential records (bars), as released with noise (crosses), \
         and of synthetic records drawn from the release (points).",
        &figure,
    )?;
    Ok(findings)
}

const CONFIDENTIAL: Style = Style::new(Style::SKY).width(8.0);
const RELEASED: Style = Style::new(Style::INK).dash(Dash::Absent).marker(Marker::Cross);
const SYNTHETIC: Style = Style::new(Style::PURPLE).dash(Dash::Absent).marker(Marker::Circle);

/// Counts of the bins: of the data, as released, and of the synthetic records; and how far the
/// mean moved.
struct Sanitised {
    confidential: Vec<f64>,
    released: Vec<f64>,
    synthetic: Vec<f64>,
    mean_gap: f64,
}

impl Sanitised {
    fn new(epsilon: f64, rng: &mut Rng) -> Outcome<Self> {
        let records = beta_records(RECORDS, rng)?;
        let (confidential, released) = perturbed_counts(&records, epsilon, rng)?;
        let drawn = synthetic_records(&released, RECORDS, rng);
        let mut synthetic = vec![0.0; BINS];
        for z in &drawn {
            synthetic[((z * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        let mean_gap = mean_se(&drawn).0 - mean_se(&records).0;
        Ok(Sanitised { confidential, released, synthetic, mean_gap })
    }

    /// The total variation distance of the bins: half the sum of the absolute differences of their
    /// shares.
    fn distance(&self) -> f64 {
        let gaps = self.confidential.iter().zip(&self.synthetic).map(|(a, b)| (a - b).abs());
        0.5 * gaps.sum::<f64>() / RECORDS as f64
    }
}

/// `k` records from a perturbed histogram on (0, 1): counts clipped at zero and normalised, a bin
/// drawn for each record, and the record uniformly in it. If no count is positive, all bins are
/// equally likely.
fn synthetic_records(released: &[f64], k: usize, rng: &mut Rng) -> Vec<f64> {
    let mut clipped: Vec<f64> = released.iter().map(|count| count.max(0.0)).collect();
    if clipped.iter().sum::<f64>() <= 0.0 {
        clipped.fill(1.0);
    }
    let total: f64 = clipped.iter().sum();
    (0..k)
        .map(|_| {
            let mut left = rng.random::<f64>() * total;
            let found = clipped.iter().position(|count| {
                left -= count;
                left < 0.0
            });
            let bin = found.unwrap_or(clipped.len() - 1) as f64;
            (bin + rng.random::<f64>()) / clipped.len() as f64
        })
        .collect()
}

fn checks(findings: &mut Findings, epsilon: f64, made: &[Sanitised]) {
    let distances: Vec<f64> = made.iter().map(Sanitised::distance).collect();
    let gaps: Vec<f64> = made.iter().map(|one| one.mean_gap.abs()).collect();
    let (distance, gap) = (mean_se(&distances), mean_se(&gaps));
    findings.say(format!(
        "epsilon {epsilon}: synthetic and confidential records differ by {} in total variation \
         over the bins, and their means by {} on average.",
        digits(distance.0, 2),
        digits(gap.0, 2)
    ));
    let note = "The paper prints no number.";
    findings.check(
        Check::ours(format!("total variation over the bins, epsilon {epsilon}"), distance)
            .note(note),
    );
    findings.check(
        Check::ours(format!("absolute difference of the means, epsilon {epsilon}"), gap).note(note),
    );
}

fn panel(epsilon: f64, one: &Sanitised) -> Panel {
    let middle = |bin: usize| (bin as f64 + 0.5) / BINS as f64;
    let bars = (0..BINS)
        .map(|bin| (middle(bin) - 0.045, middle(bin) + 0.045, 0.0, one.confidential[bin], 1.0))
        .collect();
    let at = |counts: &[f64], shift: f64| -> Vec<(f64, f64)> {
        counts.iter().enumerate().map(|(bin, count)| (middle(bin) + shift, *count)).collect()
    };
    Panel::new(Axis::new("record").range(0.0, 1.0), Axis::new("count (records)"))
        .title(format!("ε = {epsilon}"))
        .layer(Layer::Cells(bars, CONFIDENTIAL.colour))
        .points(at(&one.released, -0.02), RELEASED)
        .points(at(&one.synthetic, 0.02), SYNTHETIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins are drawn in proportion to the clipped counts, and never if the count is zero.
    #[test]
    fn bins_follow_the_clipped_counts() {
        let mut rng = soma::rng::stream(3, 0);
        let drawn = synthetic_records(&[-4.0, 3.0, 0.0, 1.0], 40_000, &mut rng);
        let share = |low: f64, high: f64| {
            drawn.iter().filter(|z| (low..high).contains(*z)).count() as f64 / 40_000.0
        };
        assert_eq!(share(0.0, 0.25) + share(0.5, 0.75), 0.0);
        assert!((share(0.25, 0.5) - 0.75).abs() < 5.0 * (0.75f64 * 0.25 / 40_000.0).sqrt());
        assert!((share(0.25, 0.375) - 0.375).abs() < 5.0 * (0.375f64 * 0.625 / 40_000.0).sqrt());
    }
}
