//! The answer of a plan, in a sentence.

use super::{ENOUGH, PlanReport, SettingReport};

/// The sentence.
pub(super) fn sentence(report: &PlanReport) -> String {
    if report.settings.iter().all(|setting| setting.replications == 0) {
        return "Nothing was simulated.".into();
    }
    if report.settings.iter().all(|setting| setting.replications == setting.unsettled) {
        return "No fit has settled: ask for more warm-up and draws.".into();
    }
    if report.targets.is_empty() { widths(report) } else { target(report) }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// What a setting is, as far as settings differ in it.
fn named(report: &PlanReport, setting: &SettingReport) -> String {
    let differs = |key: &dyn Fn(&SettingReport) -> String| {
        report.settings.iter().any(|other| key(other) != key(setting))
    };
    let mut said = match setting.budget {
        Some(budget) => format!("{} {budget}", report.budget),
        None => "the stated noise".to_string(),
    };
    if differs(&|s| s.design.clone()) {
        said += &format!(" with the design \"{}\"", setting.design);
    }
    if differs(&|s| s.n.to_string()) {
        said += &format!(" and n = {}", setting.n);
    }
    said
}

/// The cheapest setting that is enough, or how far the best falls short.
fn target(report: &PlanReport) -> String {
    let goal: Vec<String> = report.targets.iter().map(|target| target.to_string()).collect();
    let goal = goal.join(" and ");
    let met = |setting: &&SettingReport| setting.target_met.unwrap_or(0.0);
    let key = |setting: &SettingReport| (setting.budget.unwrap_or(f64::INFINITY), setting.n as f64);
    let enough = report.settings.iter().filter(|setting| met(setting) >= ENOUGH);
    let cheapest = enough.min_by(|a, b| {
        let (a_key, b_key) = (key(a), key(b));
        let order = a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1));
        order.then(met(b).total_cmp(&met(a)))
    });
    if let Some(setting) = cheapest {
        let (what, share) = (named(report, setting), percent(met(&setting)));
        return format!("{} is enough: {goal} in {share} of releases.", capital(&what));
    }
    let best = report.settings.iter().max_by(|a, b| met(a).total_cmp(&met(b)));
    let Some(best) = best else { return String::new() };
    let (what, share) = (named(report, best), percent(met(&best)));
    let floor = report.floors.iter().find(|floor| floor.n == best.n);
    let without = floor.and_then(|floor| floor.target_met).unwrap_or(0.0);
    let hint = match without >= ENOUGH {
        true => format!("without privacy in {}: more budget would do", percent(without)),
        false => format!("without privacy in {} only: it takes more records", percent(without)),
    };
    format!("Nothing tried is enough: with {what}, {goal} in {share} of releases; {hint}.")
}

/// How much wider intervals are than without privacy, at the smallest and the largest budget.
fn widths(report: &PlanReport) -> String {
    let worst = |setting: &SettingReport| {
        let finite = setting.quantities.iter().filter(|q| q.times_floor.is_finite());
        finite.max_by(|a, b| a.times_floor.total_cmp(&b.times_floor)).cloned()
    };
    let budget = |setting: &&SettingReport| setting.budget.unwrap_or(0.0);
    let settings = || report.settings.iter();
    let ends = [
        settings().max_by(|a, b| budget(a).total_cmp(&budget(b))),
        settings().min_by(|a, b| budget(a).total_cmp(&budget(b))),
    ];
    let said = ends.into_iter().flatten().filter_map(|setting| {
        let q = worst(setting)?;
        let what = named(report, setting);
        Some((what, format!("{:.1} times ({})", q.times_floor, q.name)))
    });
    let mut said: Vec<(String, String)> = said.collect();
    said.dedup();
    let said: Vec<String> =
        said.into_iter().map(|(what, times)| format!("with {what} up to {times}")).collect();
    if said.is_empty() {
        return "Without privacy nothing would be left unknown.".into();
    }
    format!("Intervals are wider than without privacy: {}.", said.join(", "))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
