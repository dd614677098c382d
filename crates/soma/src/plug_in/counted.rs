//! Counts and the number of records as they were published.

use nalgebra::DMatrix;

use crate::chain::Problem;
use crate::counts::Shares;
use crate::release::{Aggregate, Part, Release, Total};

/// What was published of counts of cells, of their sums, and of the number of records.
pub(super) struct Counted {
    /// The names of counts with their published values, as sums over the records.
    values: Vec<(String, f64)>,
    /// The published number of records; or else the sum of the cells.
    size: Option<f64>,
    /// The sum of the published counts of all cells and their published total, where theta is the
    /// shares of a table whose n is not public.
    in_total: Option<(f64, f64)>,
}

/// What `problem`'s release says of counts.
pub(super) fn published(problem: &Problem) -> Counted {
    let release = problem.release();
    let parts = release.published_parts();
    let is_public = matches!(release.total(), Total::Known(_));
    let totals = parts.iter().filter(|part| is_total(part)).flat_map(|part| sums(part, release));
    let total = only(totals.collect());
    let Some(table) = problem.cells() else {
        let size = total.filter(|_| !is_public);
        return Counted { values: Vec::new(), size, in_total: None };
    };
    let is_plain = parts.iter().all(|part| part.layer().is_none());
    let stated: Vec<f64> = parts.iter().flat_map(|part| sums(part, release)).collect();
    let rows = table.published();
    if !is_plain || stated.len() != rows.len() {
        return Counted { values: Vec::new(), size: None, in_total: None };
    }
    let of_label = |label: &str| {
        let same = rows.iter().zip(&stated).filter(|(row, _)| row.label == label);
        only(same.map(|(_, value)| *value).collect())
    };
    let mut labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let named = |label: &str| Some((format!("count[{label}]"), of_label(label)?));
    let values = labels.into_iter().filter_map(named).collect();
    let cells: Option<Vec<f64>> =
        table.table().labels().iter().map(|label| of_label(label)).collect();
    let total = total.or_else(|| of_label("total"));
    let size = total.or_else(|| cells.as_ref().map(|cells| cells.iter().sum()));
    let positive = cells.map(|cells| cells.iter().map(|cell| cell.max(0.0)).sum::<f64>());
    let are_shares = matches!(table.shares(), Shares::Dirichlet(_)) && !is_public;
    let in_total = positive.zip(total).filter(|(_, total)| are_shares && *total > 0.0);
    Counted { values, size: size.filter(|_| !is_public), in_total }
}

impl Counted {
    /// What was published of the output `name`.
    pub(super) fn of(&self, name: &str) -> Option<f64> {
        if name == "n" {
            return self.size;
        }
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    /// Shares `theta` in the sum of the cells as shares in the published total, where there is one.
    pub(super) fn shares_of_total(
        &self,
        theta: Vec<f64>,
        covariance: DMatrix<f64>,
    ) -> (Vec<f64>, DMatrix<f64>) {
        let Some((sum, total)) = self.in_total else { return (theta, covariance) };
        let shares: Vec<f64> = theta.iter().map(|share| share * sum / total).collect();
        let covariance = DMatrix::from_fn(shares.len(), shares.len(), |i, j| {
            let own = if i == j { shares[i] } else { 0.0 };
            (own - shares[i] * shares[j]) / total
        });
        (shares, covariance)
    }
}

/// Whether a part is the number of all records.
fn is_total(part: &Part) -> bool {
    part.query().counts_records() && part.query().for_any_record(1).is_some()
}

/// The published values of a part as sums over the records.
fn sums(part: &Part, release: &Release) -> Vec<f64> {
    let unit = match (part.aggregate(), release.total()) {
        (Aggregate::Sum, _) => 1.0,
        (Aggregate::Mean, Total::Known(n)) => n as f64,
        (Aggregate::Mean, Total::Unknown(_)) => f64::NAN,
    };
    part.values().iter().map(|value| value * unit).collect()
}

/// The one value, if there is one.
fn only(values: Vec<f64>) -> Option<f64> {
    match values[..] {
        [value] => Some(value),
        _ => None,
    }
}
