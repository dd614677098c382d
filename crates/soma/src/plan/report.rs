//! The fits of a plan in figures.

use serde::{Deserialize, Serialize};

use super::{Fitted, Made, Plan, Quantity, Target, answer};

/// The answers of the plug-in, over the releases in which it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The share of releases in which it has an answer.
    pub share: f64,
    /// The mean width of its 90% interval.
    pub width: f64,
    /// How often the interval misses the truth: 0.1, if it were right.
    pub misses: f64,
    /// The root of the mean squared error of the estimate.
    pub rmse: f64,
}

/// What analysts will know of one output at one setting: over the fits that settled, since the draws
/// of others say nothing of the posterior. NaN, if none did. The plug-in needs no fit: over all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantityReport {
    /// The output.
    pub name: String,
    /// The mean posterior standard deviation.
    pub sd: f64,
    /// The Monte Carlo standard error of `sd` over replications.
    pub sd_error: f64,
    /// The mean width of the 90% interval.
    pub width: f64,
    /// The Monte Carlo standard error of `width`.
    pub width_error: f64,
    /// The share of releases whose interval holds the truth. It is 0.9 on average over the prior;
    /// at stated parameters it need not be.
    pub coverage: f64,
    /// The root of the mean squared error of the posterior mean.
    pub rmse: f64,
    /// How many times as wide as without privacy the interval is: the ratio of the mean widths over
    /// the same data sets.
    pub times_floor: f64,
    /// What taking the released values for the truth would have given; none, where it never has an
    /// answer.
    pub plug_in: Option<Answered>,
}

/// What analysts will know at one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingReport {
    /// The design.
    pub design: String,
    /// The number of records; of slots for them, where it is not public.
    pub n: usize,
    /// The total budget, where there is one.
    pub budget: Option<f64>,
    /// Fits that were made.
    pub replications: u64,
    /// Fits whose chain was not settled, which are left out: if more than a few, ask for more warm-up
    /// and draws.
    pub unsettled: u64,
    /// The share of the settled fits in which all targets are met.
    pub target_met: Option<f64>,
    /// Each output.
    pub quantities: Vec<QuantityReport>,
}

/// What the data themselves say, for one number of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FloorReport {
    /// The number of records.
    pub n: usize,
    /// The share of data sets that meet all targets without privacy.
    pub target_met: Option<f64>,
    /// Each output.
    pub quantities: Vec<QuantityReport>,
}

/// A plan in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// What budgets are: `epsilon` or `rho`.
    pub budget: String,
    /// The targets.
    pub targets: Vec<Target>,
    /// Each setting, in the order of the plan.
    pub settings: Vec<SettingReport>,
    /// The no-privacy floor, for each number of records.
    pub floors: Vec<FloorReport>,
    /// The answer, in a sentence.
    pub answer: String,
    /// Whether all replications were made.
    pub is_complete: bool,
}

impl PlanReport {
    /// Of the fits that were made.
    pub fn of(plan: &Plan, made: &Made) -> Self {
        let names = plan.settings[0].problem.outputs();
        let n = |setting: usize| plan.settings[setting].problem.release().n();
        let floors: Vec<FloorReport> = made
            .floors
            .iter()
            .map(|(setting, fits)| FloorReport {
                n: n(*setting),
                target_met: met(&plan.targets, &names, &settled(fits)),
                quantities: quantities(&names, fits, fits),
            })
            .collect();
        let setting = |(i, fits): (usize, &Vec<(u64, Fitted)>)| {
            let floor = made.floors.iter().find(|(setting, _)| n(*setting) == n(i));
            let floor = floor.map_or(&[][..], |(_, fits)| fits);
            let of_settled = settled(fits);
            SettingReport {
                design: plan.settings[i].design.clone(),
                n: n(i),
                budget: plan.settings[i].budget,
                replications: fits.len() as u64,
                unsettled: (fits.len() - of_settled.len()) as u64,
                target_met: met(&plan.targets, &names, &of_settled),
                quantities: quantities(&names, fits, floor),
            }
        };
        let mut report = PlanReport {
            budget: plan.budget.to_string(),
            targets: plan.targets.clone(),
            settings: made.fits.iter().enumerate().map(setting).collect(),
            floors,
            answer: String::new(),
            is_complete: made.fits.iter().all(|fits| fits.len() as u64 == plan.replications),
        };
        report.answer = answer::sentence(&report);
        report
    }
}

/// The fits that settled, with the number of their replication.
fn settled(fits: &[(u64, Fitted)]) -> Vec<(u64, &Fitted)> {
    fits.iter().filter(|(_, fit)| fit.is_settled).map(|(number, fit)| (*number, fit)).collect()
}

/// The share of fits that meet all targets.
fn met(targets: &[Target], names: &[String], fits: &[(u64, &Fitted)]) -> Option<f64> {
    if targets.is_empty() || fits.is_empty() {
        return None;
    }
    let meets = |fit: &Fitted| {
        targets.iter().all(|target| {
            let at = names.iter().position(|name| *name == target.name);
            at.is_some_and(|k| {
                let Quantity { sd, low, high, .. } = fit.quantities[k];
                target.is_met(sd, high - low)
            })
        })
    };
    let count = fits.iter().filter(|(_, fit)| meets(fit)).count();
    Some(count as f64 / fits.len() as f64)
}

/// A mean with its Monte Carlo standard error.
fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let squares: f64 = values.map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// Each output over `fits`, beside the `floor` of the same data sets.
fn quantities(
    names: &[String],
    fits: &[(u64, Fitted)],
    floor: &[(u64, Fitted)],
) -> Vec<QuantityReport> {
    let (of_settled, floor) = (settled(fits), settled(floor));
    let beside = |(number, own): &(u64, &Fitted), k: usize| {
        let at = floor.binary_search_by_key(number, |(number, _)| *number).ok()?;
        let width = |q: &Quantity| q.high - q.low;
        Some((width(&own.quantities[k]), width(&floor[at].1.quantities[k])))
    };
    let quantity = |(k, name): (usize, &String)| {
        let all = of_settled.iter().map(|(_, fit)| fit.quantities[k]);
        let pairs = of_settled.iter().filter_map(|fit| beside(fit, k));
        let (own, without) = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let holds = |q: &Quantity| q.low <= q.truth && q.truth <= q.high;
        let (sd, sd_error) = mean(all.clone().map(|q| q.sd));
        let (width, width_error) = mean(all.clone().map(|q| q.high - q.low));
        QuantityReport {
            name: name.clone(),
            sd,
            sd_error,
            width,
            width_error,
            coverage: mean(all.clone().map(|q| f64::from(holds(&q)))).0,
            rmse: mean(all.clone().map(|q| (q.mean - q.truth).powi(2))).0.sqrt(),
            times_floor: own / without,
            plug_in: answered(fits.iter().map(|(_, fit)| fit.quantities[k])),
        }
    };
    names.iter().enumerate().map(quantity).collect()
}

fn answered(all: impl Iterator<Item = Quantity> + Clone) -> Option<Answered> {
    let said = all.clone().filter_map(|q| q.plug_in.map(|said| (q.truth, said)));
    let answers = said.clone().count();
    if answers == 0 {
        return None;
    }
    Some(Answered {
        share: answers as f64 / all.count() as f64,
        width: mean(said.clone().map(|(_, [_, low, high])| high - low)).0,
        misses: mean(
            said.clone().map(|(truth, [_, low, high])| f64::from(!(low <= truth && truth <= high))),
        )
        .0,
        rmse: mean(said.map(|(truth, [estimate, ..])| (estimate - truth).powi(2))).0.sqrt(),
    })
}
