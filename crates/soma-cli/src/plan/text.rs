//! A plan as tables.

use soma::plan::{FloorReport, Plan, PlanReport, QuantityReport, SettingReport};

use crate::table;

/// All of it: a table for each design and number of records, and the answer.
pub fn of(report: &PlanReport, plan: &Plan) -> String {
    let mut said = Vec::new();
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for setting in &report.settings {
        let group = (setting.design.as_str(), setting.n);
        if seen.contains(&group) {
            continue;
        }
        seen.push(group);
        let own = report.settings.iter().filter(|s| (s.design.as_str(), s.n) == group);
        let floor = report.floors.iter().find(|floor| floor.n == setting.n);
        said.push(format!("{}, n = {}\n{}", group.0, group.1, rows(report, own, floor)));
    }
    said.push(notes(report, plan));
    said.push(report.answer.clone());
    said.join("\n\n")
}

fn rows<'a>(
    report: &PlanReport,
    settings: impl Iterator<Item = &'a SettingReport>,
    floor: Option<&FloorReport>,
) -> String {
    let has_target = !report.targets.is_empty();
    let has_unsettled = report.settings.iter().any(|setting| setting.unsettled > 0);
    let mut header = vec![
        report.budget.as_str(),
        "parameter",
        "sd",
        "width",
        "/ floor",
        "coverage",
        "plug-in width",
        "misses",
        "no answer",
    ];
    if has_target {
        header.push("target met");
    }
    if has_unsettled {
        header.push("settled");
    }
    let mut cells = Vec::new();
    // What is said of a whole setting stands in its first row.
    let mut add = |budget: String, met: String, settled: String, quantities: &[QuantityReport]| {
        for (k, quantity) in quantities.iter().enumerate() {
            let first = |text: &str| if k == 0 { text.to_string() } else { String::new() };
            let mut row = vec![first(&budget)];
            row.extend(of_quantity(quantity));
            if has_target {
                row.push(first(&met));
            }
            if has_unsettled {
                row.push(first(&settled));
            }
            cells.push(row);
        }
    };
    let share = |met: Option<f64>| met.map_or("-".to_string(), percent);
    for setting in settings {
        let budget = setting.budget.map_or_else(|| "stated".to_string(), |b| b.to_string());
        let all = setting.replications;
        let settled = format!("{} of {all}", all - setting.unsettled);
        add(budget, share(setting.target_met), settled, &setting.quantities);
    }
    if let Some(floor) = floor {
        add("no privacy".into(), share(floor.target_met), String::new(), &floor.quantities);
    }
    table::framed(&header, cells.into_iter())
}

fn of_quantity(quantity: &QuantityReport) -> Vec<String> {
    let plug_in = |value: &dyn Fn(&soma::plan::Answered) -> String| {
        quantity.plug_in.as_ref().map_or_else(|| "-".to_string(), value)
    };
    vec![
        quantity.name.clone(),
        figure(quantity.sd),
        figure(quantity.width),
        known(quantity.times_floor, |x| format!("{x:.2}")),
        known(quantity.coverage, percent),
        plug_in(&|said| figure(said.width)),
        plug_in(&|said| percent(said.misses)),
        plug_in(&|said| percent(1.0 - said.share)),
    ]
}

/// A dash for NaN, where no fit settled, and for widths beside one of 0.
fn known(x: f64, text: impl Fn(f64) -> String) -> String {
    if x.is_finite() { text(x) } else { "-".into() }
}

/// Three digits.
fn figure(x: f64) -> String {
    if !x.is_finite() || x == 0.0 {
        return known(x, |x| x.to_string());
    }
    let decimals = (2.0 - x.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    if x.abs() >= 1e6 { format!("{x:.2e}") } else { format!("{x:.decimals$}") }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn notes(report: &PlanReport, plan: &Plan) -> String {
    let made = report.settings.iter().map(|setting| setting.replications).min().unwrap_or(0);
    let drawn = match plan.truth {
        Some(_) => "at the stated parameters",
        None => "with parameters drawn from the prior",
    };
    let stopped = match report.is_complete {
        true => String::new(),
        false => format!(" of {} (stopped)", plan.replications),
    };
    let unsettled: u64 = report.settings.iter().map(|setting| setting.unsettled).sum();
    let all: u64 = report.settings.iter().map(|setting| setting.replications).sum();
    let over = if unsettled > 0 { "those whose fit settled" } else { "them" };
    let mut said = format!(
        "{made}{stopped} data sets {drawn}; sd and width of 90% intervals are means over {over}. \
         Plug-in: the released values taken for the truth; its 90% interval should miss 10%."
    );
    if unsettled > 0 {
        said += &format!("\n{unsettled} of {all} fits had not settled, and are left out");
        said += &match 20 * unsettled > all {
            true => format!(
                ". Wide posteriors may be among them: ask for --warmup {} --draws {}.",
                2 * plan.warmup,
                2 * plan.draws
            ),
            false => ".".to_string(),
        };
    }
    said
}
