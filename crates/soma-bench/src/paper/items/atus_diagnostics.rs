//! R-hat and effective sample size of alpha on the time-use data.

use std::ops::Range;

use soma::Outcome;
use soma::diagnostics::{ess_bulk, rhat};
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::Item;
use super::atus_chains::{Draws, SAMPLERS, draws, size, sweeps_of};
use super::atus_often;
use crate::paper::settings::Sex;
use crate::paper::stats::{digits, jackknife};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "atus-diagnostics",
    title: "Time use: R-hat and effective sample size",
    place: "Table 1",
    claim: "Over 20 runs, R-hat after 10^5 iterations is lower and the effective sample size after \
            10^6 iterations is higher with SOMA than with IMwG, for every alpha, female and male.",
    run,
};

/// R-hat and effective sample size in the paper's table, by alpha: (female, male).
const PUBLISHED_SOMA: [[(f64, f64); 2]; 3] = [
    [(1.0469, 2754.5), (1.0492, 3406.8)],
    [(1.0333, 3576.5), (1.0344, 4510.3)],
    [(1.0481, 2713.6), (1.0506, 3342.5)],
];
const PUBLISHED_IMWG: [[(f64, f64); 2]; 3] = [
    [(1.1041, 2373.5), (1.1994, 2249.0)],
    [(1.0816, 2965.0), (1.1546, 2777.4)],
    [(1.1068, 2348.7), (1.2043, 2216.6)],
];

const ITERATIONS_NOTE: &str =
    "The paper's 10^5 and 10^6 iterations are taken as single moves, as only they fit.";

/// Our number with its error for one alpha, and the published one.
struct Row {
    sex: Sex,
    sampler: Sampler,
    alpha: usize,
    sweeps: (usize, usize),
    rhat: (f64, f64),
    ess: (f64, f64),
    published: (f64, f64),
}

/// Effective sample sizes of Sys-IMwG with alpha updated more often, by alpha.
struct Often {
    sex: Sex,
    ess: Vec<(f64, f64)>,
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let mut findings = Findings::new();
    let mut rows = Vec::new();
    let mut often = Vec::new();
    let mut panels = Vec::new();
    for (index, sex) in Sex::BOTH.into_iter().enumerate() {
        let mut panel = Panel::new(
            Axis::new("sweeps"),
            Axis::new("R-hat, the worst of the alphas").range(1.0, 1.6),
        )
        .title(format!("{}. {}", ["A", "B"][index], sex.name()));
        for sampler in SAMPLERS {
            let draws = draws(study, sex, sampler)?;
            rows.extend((0..3).map(|alpha| row(study, sex, sampler, alpha, &draws)));
            panel = panel.line(rhat_curve(&draws), sampler.style());
        }
        often.push(Often { sex, ess: atus_often::effective(study, sex)? });
        let reference = Style::new(Style::GREY).dash(Dash::Dotted).width(1.2);
        panels.push(panel.upright(early(study, sex) as f64, reference));
    }
    findings.setting(format!(
        "{} runs; alpha started in proportion to the exponential of the released values, with sum \
         30; the shares clamped at one minute of a day; Laplace noise as the paper states it. \
         10^5 moves are {} sweeps of the women's records and {} of the men's, 10^6 are {} and {}. \
         One update of alpha by slice sampling after each sweep. The effective sample size leaves \
         out the first 10^5 moves.",
        size(study, Sex::Female).0,
        sweeps_of(1e5, Sex::Female),
        sweeps_of(1e5, Sex::Male),
        sweeps_of(1e6, Sex::Female),
        sweeps_of(1e6, Sex::Male),
    ));
    for row in &rows {
        let often = often.iter().find(|often| often.sex == row.sex);
        checks(&mut findings, row, often.map_or(f64::NAN, |often| often.ess[row.alpha].0));
    }
    say(&mut findings, &rows);
    findings.table(table(&rows));
    findings.table(often_table(&often));
    let figure = Figure::new("R-hat of alpha by sweep", panels);
    findings.figure(
        "atus-diagnostics",
        "R-hat of alpha over all runs by sweep, the worst of the three. The dotted line stands at \
         10^5 moves.",
        &Sampler::keys(figure),
    )?;
    Ok(findings)
}

/// The sweeps at which the paper computes R-hat.
fn early(study: &Study<'_>, sex: Sex) -> usize {
    study.pick(size(study, sex).1, sweeps_of(1e5, sex), sweeps_of(1e5, sex))
}

fn row(study: &Study<'_>, sex: Sex, sampler: Sampler, alpha: usize, draws: &Draws) -> Row {
    let (runs, late) = size(study, sex);
    let early = early(study, sex);
    // The part used for R-hat is warm-up for the rest.
    let warmup = if early < late { early } else { 0 };
    let some = |kept: &[usize], sweeps: Range<usize>| -> Vec<&[f64]> {
        kept.iter().map(|&run| &draws[alpha][run][sweeps.clone()]).collect()
    };
    let column = usize::from(sex == Sex::Male);
    let published = match sampler {
        Sampler::Soma => PUBLISHED_SOMA[alpha][column],
        _ => PUBLISHED_IMWG[alpha][column],
    };
    // The effective sample size grows with the number of runs: one run's worth of it, times all.
    let ess = jackknife(runs, |kept| {
        ess_bulk(&some(kept, warmup..late)) * runs as f64 / kept.len() as f64
    });
    let rhat = jackknife(runs, |kept| rhat(&some(kept, 0..early)));
    Row { sex, sampler, alpha, sweeps: (early, late), rhat, ess, published }
}

fn rhat_curve(draws: &Draws) -> Vec<(f64, f64)> {
    let last = draws[0][0].len();
    let step = (last / 60).max(1);
    (4..=last)
        .step_by(step)
        .map(|sweeps| {
            let of = |runs: &Vec<Vec<f64>>| {
                let some: Vec<&[f64]> = runs.iter().map(|run| &run[..sweeps]).collect();
                rhat(&some)
            };
            (sweeps as f64, draws.iter().map(of).fold(f64::NEG_INFINITY, f64::max))
        })
        .collect()
}

fn checks(findings: &mut Findings, row: &Row, often: f64) {
    let Row { sex, sampler, alpha, sweeps, rhat, ess, published } = row;
    let which = format!("alpha{}, {}, {}", alpha + 1, sex.name(), sampler.name());
    let imwg = match sampler {
        Sampler::Soma => "",
        _ => " The paper's table says only IMwG, without the scan.",
    };
    let per_move = " The paper's number has an error of its own of the same kind: it is from 20 \
                    runs too.";
    findings.check(
        Check::ours(format!("R-hat after 10^5 moves, {which}"), *rhat)
            .published(published.0, 0.0001, rhat.1)
            .note(format!("{} sweeps. {ITERATIONS_NOTE}{imwg}{per_move}", sweeps.0))
            .if_not(EXPLANATION),
    );
    findings.check(
        Check::ours(format!("effective sample size after 10^6 moves, {which}"), *ess)
            .published(published.1, 0.1, ess.1)
            .note(format!("{} sweeps. {ITERATIONS_NOTE}{imwg}{per_move}", sweeps.1))
            .if_not(format!(
                "The published one is {} times ours, which updates alpha once a sweep. The paper \
                 does not say how often it does. With an update after every {} moves Sys-IMwG has \
                 {}, where the paper has {} for IMwG.",
                digits(published.1 / ess.0, 2),
                atus_often::EVERY,
                digits(often, 4),
                digits(PUBLISHED_IMWG[*alpha][usize::from(*sex == Sex::Male)].1, 4)
            )),
    );
}

const EXPLANATION: &str = "After so few sweeps R-hat is mostly the way from the start, and it varies \
    much between sets of 20 runs. The authors' script has the numbers of women and men the other way \
    round, and the scan of its IMwG is not given.";

fn say(findings: &mut Findings, rows: &[Row]) {
    let worst = |sampler: Sampler| {
        let of = rows.iter().filter(|row| row.sampler == sampler);
        let rhat = of.clone().map(|row| row.rhat.0).fold(f64::NEG_INFINITY, f64::max);
        let ess = of.map(|row| row.ess.0).fold(f64::INFINITY, f64::min);
        format!("{}: {} and {}", sampler.name(), digits(rhat, 4), digits(ess, 4))
    };
    findings.say(format!(
        "The largest R-hat after 10^5 moves and the smallest effective sample size after 10^6 are, \
         for {}.",
        SAMPLERS.map(worst).join("; ")
    ));
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "atus-diagnostics",
        "R-hat after 10^5 moves and effective sample size after 10^6 moves.",
        &["alpha", "sampler", "half", "R-hat", "R-hat se", "ESS", "ESS se"],
    )
    .shown();
    for row in rows {
        table.row(vec![
            format!("alpha{}", row.alpha + 1),
            row.sampler.name().into(),
            row.sex.name().into(),
            digits(row.rhat.0, 5),
            digits(row.rhat.1, 2),
            digits(row.ess.0, 5),
            digits(row.ess.1, 2),
        ]);
    }
    table
}

fn often_table(often: &[Often]) -> Table {
    let mut table = Table::new(
        "atus-diagnostics-often",
        format!(
            "Effective sample size of Sys-IMwG after 10^6 moves, alpha updated after every {} moves.",
            atus_often::EVERY
        ),
        &["alpha", "half", "ESS", "ESS se", "published for IMwG"],
    )
    .shown();
    for Often { sex, ess } in often {
        for (alpha, (ess, error)) in ess.iter().enumerate() {
            let published = PUBLISHED_IMWG[alpha][usize::from(*sex == Sex::Male)].1;
            table.row(vec![
                format!("alpha{}", alpha + 1),
                sex.name().into(),
                digits(*ess, 5),
                digits(*error, 2),
                digits(published, 5),
            ]);
        }
    }
    table
}
