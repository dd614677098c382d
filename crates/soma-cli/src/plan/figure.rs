//! The width of intervals against the budget.

use soma::plan::{PlanReport, SettingReport};
use soma_report::Figure;
use soma_report::svg::{Axis, Ink, Panel, Plot, Size, number};

/// A panel for each parameter, a line for each design and number of records, and the width without
/// privacy across it.
pub fn svg(report: &PlanReport) -> String {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for setting in &report.settings {
        if !groups.contains(&group(setting)) {
            groups.push(group(setting));
        }
    }
    let quantities = report.settings.first().map_or(0, |first| first.quantities.len());
    let mut keys: Vec<(String, Ink)> = groups
        .iter()
        .enumerate()
        .map(|(i, (design, n))| (format!("{design}, n = {n}"), Ink::Chain(i)))
        .collect();
    keys.push(("without privacy".into(), Ink::Muted));
    let figure = Figure {
        title: "Width of intervals against the budget".into(),
        caption: "The mean width of 90% intervals over simulated releases; both axes are \
                  logarithmic. The dashed line is the width without privacy."
            .into(),
        keys,
        panels: (0..quantities).map(|k| panel(report, &groups, k)).collect(),
    };
    figure.document(3)
}

fn group(setting: &SettingReport) -> (&str, usize) {
    (&setting.design, setting.n)
}

/// The panel of the k-th quantity.
fn panel(report: &PlanReport, groups: &[(&str, usize)], k: usize) -> Panel {
    let budget = |setting: &SettingReport| setting.budget.unwrap_or(1.0);
    let budgets: Vec<f64> = report.settings.iter().map(budget).collect();
    let floors = report.floors.iter().map(|floor| floor.quantities[k].width);
    let floors = floors.filter(|width| width.is_finite());
    let widths: Vec<f64> =
        report.settings.iter().map(|s| s.quantities[k].width).chain(floors.clone()).collect();
    let mut x_ticks: Vec<(f64, String)> =
        budgets.iter().map(|budget| (budget.log10(), number(*budget))).collect();
    x_ticks.dedup();
    let x = logarithmic(&report.budget, &budgets).ticks(x_ticks);
    let mut plot = Plot::new(Size::PLAIN, x, logarithmic("width of 90% interval", &widths));
    for floor in floors {
        let said = format!("without privacy: {}", number(floor));
        plot = plot.level(floor.log10(), Ink::Muted, &said);
    }
    for (i, own) in groups.iter().enumerate() {
        let settings = report.settings.iter().filter(|setting| group(setting) == *own);
        let points = settings.map(|s| (budget(s).log10(), s.quantities[k].width.log10()));
        // Where no fit settled, there is no width.
        let points: Vec<(f64, f64)> = points.filter(|(_, width)| width.is_finite()).collect();
        let name = format!("{}, n = {}", own.0, own.1);
        plot = plot.line(&points, Ink::Chain(i), &name);
        for &(x, y) in &points {
            let (at, width) = (number(10f64.powf(x)), number(10f64.powf(y)));
            let said = format!("{name}: {width} at {} {at}", report.budget);
            plot = plot.dot((x, y), (0.0, 3.0), Ink::Chain(i), &said);
        }
    }
    let name = &report.settings[0].quantities[k].name;
    plot.finish(name, format!("The width of the 90% interval of {name} against the budget."))
}

/// A logarithmic axis around the positive values, with ticks at 1, 2 and 5 times powers of ten, and at
/// more digits where these are few.
fn logarithmic(label: &str, values: &[f64]) -> Axis {
    let positive = values.iter().copied().filter(|value| *value > 0.0 && value.is_finite());
    let low = positive.clone().fold(f64::INFINITY, f64::min);
    let high = positive.fold(0.0, f64::max);
    if low > high {
        return Axis::new(label, 0.0, 1.0).ticks(Vec::new());
    }
    let (from, to) = (low.log10() - 0.1, high.log10() + 0.1);
    let digits: &[f64] =
        if to - from < 0.8 { &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0] } else { &[1.0, 2.0, 5.0] };
    let ticks = (from.floor() as i32..=to.ceil() as i32)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
        .filter(|tick| (from..=to).contains(&tick.log10()))
        .map(|tick| (tick.log10(), number(tick)))
        .collect();
    Axis::new(label, from, to).ticks(ticks)
}

#[cfg(test)]
mod tests {
    use soma::plan::{FloorReport, QuantityReport};

    use super::*;

    fn quantity(width: f64) -> QuantityReport {
        QuantityReport {
            name: "mu".into(),
            sd: width,
            sd_error: width,
            width,
            width_error: width,
            coverage: width,
            rmse: width,
            times_floor: width,
            plug_in: None,
        }
    }

    fn report(widths: &[f64], floor: f64) -> PlanReport {
        let setting = |(i, width): (usize, &f64)| SettingReport {
            design: "as stated".into(),
            n: 10,
            budget: Some((1 + i) as f64),
            replications: 1,
            unsettled: u64::from(width.is_nan()),
            target_met: None,
            quantities: vec![quantity(*width)],
        };
        PlanReport {
            budget: "epsilon".into(),
            targets: Vec::new(),
            settings: widths.iter().enumerate().map(setting).collect(),
            floors: vec![FloorReport {
                n: 10,
                target_met: None,
                quantities: vec![quantity(floor)],
            }],
            answer: String::new(),
            is_complete: true,
        }
    }

    /// Where no fit settled there is no width, and what the data say alone may have none either.
    #[test]
    fn what_is_not_known_is_not_drawn() {
        const NONE: f64 = f64::NAN;
        for (widths, floor, dots) in [
            ([NONE, NONE], NONE, 0),
            ([NONE, NONE], 0.0, 0),
            ([NONE, NONE], 0.5, 0),
            ([1.0, NONE], 0.5, 1),
            ([0.0, 1.0], 0.0, 1),
            ([2.0, 1.0], 0.5, 2),
        ] {
            let drawn = svg(&report(&widths, floor));
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            assert_eq!(drawn.matches("<circle").count(), dots, "{widths:?}: {drawn}");
        }
    }
}
