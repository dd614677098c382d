//! The verdict whether draws can be trusted, with all reasons against it.

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};

use super::{Column, Crossing, MIN_DRAWS, Reason, RunFigures, Settled};

/// Chains disagree if R-hat is not below this.
pub const RHAT: f64 = 1.01;

/// The required effective sample size per chain, in the bulk and in the tails.
pub const ESS_PER_CHAIN: f64 = 100.0;

/// A parameter that changes less often than this in a chain (or than in one of five draws, if there
/// are few) has hardly moved.
pub const MIN_CHANGES: usize = 20;

/// Below this acceptance rate the records of a chain hardly move. The parameters may not show it,
/// since they are drawn given the records in every iteration.
pub const MIN_ACCEPTANCE: f64 = 1e-3;

/// Below this acceptance rate of swaps at the weakest link of its ladder, a chain rarely crosses
/// between separate modes.
pub const MIN_SWAPS: f64 = 0.01;

/// Chains whose R-hat of the log density of the release is not below this may be in different
/// modes. The threshold is looser than for a parameter, since chains in different modes have far
/// larger values.
pub const APART: f64 = 1.1;

/// A verdict on the draws of several parameters: trusted, unless there is a reason against it.
///
/// R-hat and the effective sample size have the thresholds of Vehtari, Gelman, Simpson, Carpenter
/// and Bürkner (2021). They do not detect chains that do not move, so these are checked first.
/// Serialised it is `{"trusted", "unknown", "reasons": [{"kind", ..., "message"}]}`, and `"settled"`
/// where there are such comparisons.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The reasons against the draws, the most serious first; at most one of each kind, for the
    /// worst parameter or chain.
    pub reasons: Vec<Reason>,
    /// The largest R-hat of a parameter.
    pub rhat: f64,
    /// The smallest effective sample size of a parameter, in the bulk or in the tails.
    pub ess: f64,
    /// The comparisons that were the same in all draws.
    pub settled: Vec<Settled>,
}

impl Verdict {
    /// The verdict on the draws of some parameters, with further figures of the run.
    pub fn of(columns: &[Column], run: &RunFigures) -> Self {
        // Counts that a sharp release determines, and comparisons that hold in all draws, are not
        // informative about the chains.
        let in_doubt = |column: &&Column| !(column.may_be_constant() && column.is_constant);
        let in_doubt: Vec<Column> = columns.iter().filter(in_doubt).cloned().collect();
        let all = columns;
        let columns = if in_doubt.is_empty() { columns } else { &in_doubt };
        let chains = columns.iter().map(|column| column.changes.len()).max().unwrap_or(0);
        let draws = columns.iter().map(|column| column.draws).min().unwrap_or(0);
        let ((_, rhat), (_, ess)) = (least_agreed(columns), least_known(columns));
        let settled = all.iter().filter_map(|column| Settled::of(column, ess)).collect();
        let mut reasons = Vec::new();
        if draws < MIN_DRAWS {
            reasons.push(Reason::TooFewDraws { draws });
            return Verdict { reasons, rhat, ess, settled };
        }
        reasons.extend(not_a_number(columns));
        reasons.extend(unmoved(columns, draws));
        reasons.extend(refused(&run.acceptance));
        // If a parameter is constant, R-hat is undefined.
        let told = !reasons.iter().any(|reason| matches!(reason, Reason::Constant { .. }));
        reasons.extend(imprecise(columns, chains, told));
        if chains == 1 {
            reasons.push(Reason::OneChain);
        }
        reasons.extend(uncrossed(&run.crossings));
        if chains > 1 && run.log_density_rhat >= APART {
            reasons.push(Reason::Apart { rhat: run.log_density_rhat });
        }
        Verdict { reasons, rhat, ess, settled }
    }

    /// Whether all reasons leave open whether the draws are good.
    pub fn is_unknown(&self) -> bool {
        !self.is_trusted() && self.reasons.iter().all(Reason::is_unknown)
    }

    /// Whether the draws can be trusted.
    pub fn is_trusted(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// The parameter with the largest value of `of`, and the value; NaN counts as the largest.
fn worst(columns: &[Column], of: impl Fn(&Column) -> f64) -> (String, f64) {
    let rank = |column: &Column| match of(column) {
        x if x.is_nan() => f64::INFINITY,
        x => x,
    };
    let worst = columns.iter().max_by(|a, b| rank(a).total_cmp(&rank(b)));
    worst.map_or(("nothing".into(), f64::NAN), |column| (column.name.clone(), of(column)))
}

/// The parameter with the largest R-hat.
fn least_agreed(columns: &[Column]) -> (String, f64) {
    worst(columns, |column| column.summary.rhat)
}

/// The parameter with the smallest effective sample size, in the bulk or in the tails.
fn least_known(columns: &[Column]) -> (String, f64) {
    let (name, ess) =
        worst(columns, |column| -column.summary.ess_bulk.min(column.summary.ess_tail));
    (name, -ess)
}

/// Whether the chains disagree, and whether estimates are imprecise. `is_nan_bad` unless it is known
/// why a figure is undefined. Draws that are not numbers have a reason of their own, and do not hide
/// the other parameters.
fn imprecise(columns: &[Column], chains: usize, is_nan_bad: bool) -> Vec<Reason> {
    let numbers: Vec<Column> =
        columns.iter().filter(|column| column.summary.mean.is_finite()).cloned().collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    let (parameter, rhat) = least_agreed(&numbers);
    if chains > 1 && (rhat >= RHAT || (rhat.is_nan() && is_nan_bad)) {
        reasons.push(Reason::Disagree { parameter, rhat });
    }
    let ((parameter, ess), wanted) = (least_known(&numbers), ESS_PER_CHAIN * chains as f64);
    if ess < wanted || (ess.is_nan() && is_nan_bad) {
        reasons.push(Reason::Rough { parameter, ess, wanted });
    }
    reasons
}

fn not_a_number(columns: &[Column]) -> Option<Reason> {
    let column = columns.iter().find(|column| !column.summary.mean.is_finite())?;
    Some(Reason::NotANumber { parameter: column.name.clone() })
}

/// A constant parameter; or else the one that changed least in a chain, if it hardly moved.
fn unmoved(columns: &[Column], draws: usize) -> Option<Reason> {
    let constant = |column: &&Column| column.is_constant;
    if let Some(column) = columns.iter().find(constant) {
        return Some(Reason::Constant { parameter: column.name.clone() });
    }
    let by_chain = columns.iter().filter(|column| !column.may_be_constant()).flat_map(|column| {
        column.changes.iter().enumerate().map(move |(chain, &changes)| (changes, chain, column))
    });
    let (changes, chain, column) = by_chain.min_by_key(|(changes, ..)| *changes)?;
    let parameter = column.name.clone();
    (changes < MIN_CHANGES.min(draws / 5)).then_some(Reason::HardlyMoved {
        parameter,
        chain,
        changes,
        draws,
    })
}

/// The chain with the lowest acceptance rate, if it is below [`MIN_ACCEPTANCE`].
fn refused(acceptance: &[f64]) -> Option<Reason> {
    let known = acceptance.iter().copied().enumerate().filter(|(_, rate)| !rate.is_nan());
    let (chain, rate) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (rate < MIN_ACCEPTANCE).then_some(Reason::Refused { chain, rate })
}

/// A chain without the ladder that it needs, or else the one with the weakest ladder.
fn uncrossed(crossings: &[Crossing]) -> Option<Reason> {
    if crossings.contains(&Crossing::None) {
        return Some(Reason::NoLadder);
    }
    let rates = crossings.iter().enumerate().filter_map(|(chain, crossing)| match crossing {
        Crossing::Swaps(rate) => Some((chain, *rate)),
        _ => None,
    });
    let (chain, rate) = rates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (rate < MIN_SWAPS).then_some(Reason::FewSwaps { chain, rate })
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Verdict { reasons, rhat, ess, settled } = self;
        if self.is_trusted() {
            write!(
                f,
                "The chains agree (largest R-hat {rhat:.3}), and every parameter has at least \
                 {ess:.0} effective draws."
            )?;
            return settled.iter().try_for_each(|one| write!(f, " {one}"));
        }
        let all: Vec<String> = reasons.iter().map(Reason::to_string).collect();
        let head = match self.is_unknown() {
            true => "It cannot be known whether this can be trusted",
            false => "Do not trust this",
        };
        write!(f, "{head}: {}.", all.join("; "))?;
        remedies(reasons).iter().try_for_each(|remedy| write!(f, " {remedy}"))
    }
}

/// What to do, each once: "Raise the number of draws." is left out beside "Raise the number of draws and the warm-up."
fn remedies(reasons: &[Reason]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for remedy in reasons.iter().map(Reason::remedy) {
        let said_by = |other: &str| other.starts_with(remedy.trim_end_matches('.'));
        if !found.contains(&remedy)
            && !reasons.iter().any(|other| other.remedy() != remedy && said_by(other.remedy()))
        {
            found.push(remedy);
        }
    }
    found
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stated<'a> {
            #[serde(flatten)]
            reason: &'a Reason,
            message: String,
        }
        #[derive(Serialize)]
        struct Told<'a> {
            trusted: bool,
            unknown: bool,
            reasons: Vec<Stated<'a>>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            settled: &'a [Settled],
        }
        let stated = |reason| Stated { reason, message: reason.to_string() };
        let reasons = self.reasons.iter().map(stated).collect();
        let (trusted, unknown) = (self.is_trusted(), self.is_unknown());
        Told { trusted, unknown, reasons, settled: &self.settled }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Summary;
    use super::*;

    fn accepting(rates: &[f64]) -> RunFigures {
        RunFigures { acceptance: rates.to_vec(), ..RunFigures::default() }
    }

    /// A parameter that moves in each of `chains` chains, with this R-hat and effective sample
    /// size.
    fn column(name: &str, chains: usize, rhat: f64, ess: f64) -> Column {
        let moving: Vec<Vec<f64>> =
            (0..chains).map(|c| (0..1000).map(|t| ((t * 7 + c) % 101) as f64).collect()).collect();
        let column = Column::of(name, &moving);
        let ess_tail = ess + 1.0;
        Column { summary: Summary { rhat, ess_bulk: ess, ess_tail, ..column.summary }, ..column }
    }

    #[test]
    fn the_worst_parameter_is_named() {
        let of = |columns: &[Column]| Verdict::of(columns, &accepting(&[0.5; 4])).reasons;
        let good = || column("a", 4, 1.002, 900.0);
        let trusted = Verdict::of(&[good(), good()], &accepting(&[0.5; 4]));
        assert!(trusted.is_trusted() && trusted.rhat == 1.002 && trusted.ess == 900.0);
        let disagree = Reason::Disagree { parameter: "b".into(), rhat: 1.2 };
        assert_eq!(of(&[good(), column("b", 4, 1.2, 900.0)]), [disagree]);
        let unknown = of(&[column("a", 4, f64::NAN, 900.0)]);
        assert!(matches!(unknown[..], [Reason::Disagree { .. }]));
        let rough = Reason::Rough { parameter: "a".into(), ess: 90.0, wanted: 400.0 };
        assert_eq!(of(&[column("a", 4, 1.001, 90.0), column("b", 4, 1.0, 900.0)]), [rough]);
    }

    /// They have neither R-hat nor effective draws, which are not listed beside the reason.
    #[test]
    fn draws_that_are_not_numbers_are_named_once() {
        let nan = Column::of("rho23", &vec![vec![f64::NAN; 1000]; 4]);
        let of = |columns: &[Column]| Verdict::of(columns, &accepting(&[0.5; 4]));
        let only = Reason::NotANumber { parameter: "rho23".into() };
        let alone = of(&[column("a", 4, 1.002, 900.0), nan.clone()]);
        assert_eq!(alone.reasons, std::slice::from_ref(&only));
        assert!(alone.to_string().contains("effective draws cannot be counted"), "{alone}");
        let rough = Reason::Rough { parameter: "a".into(), ess: 90.0, wanted: 400.0 };
        assert_eq!(of(&[column("a", 4, 1.001, 90.0), nan]).reasons, [only.clone(), rough]);
        let mut draws: Vec<Vec<f64>> = vec![(0..1000).map(|t| f64::from(t * 7 % 101)).collect(); 4];
        draws[1][3] = f64::INFINITY;
        let good = column("a", 4, 1.002, 900.0);
        assert_eq!(of(&[good, Column::of("rho23", &draws)]).reasons, [only]);
    }

    #[test]
    fn what_to_do_is_said_once() {
        let disagree = Reason::Disagree { parameter: "b".into(), rhat: 1.2 };
        let rough = Reason::Rough { parameter: "a".into(), ess: 90.0, wanted: 400.0 };
        let (more, both) =
            ("Raise the number of draws.", "Raise the number of draws and the warm-up.");
        assert_eq!(remedies(&[rough.clone(), rough.clone()]), [more]);
        assert_eq!(remedies(&[disagree.clone(), rough.clone()]), [both]);
        let apart = Reason::Apart { rhat: 1.2 };
        assert_eq!(remedies(&[disagree.clone(), rough.clone(), apart.clone()]), [apart.remedy()]);
        assert_eq!(remedies(&[rough, disagree, Reason::OneChain]), [both, "Run several chains."]);
    }

    /// Each failure that R-hat and the effective sample size do not detect, by itself.
    #[test]
    fn chains_that_do_not_move_are_seen() {
        let good = || column("b", 4, 1.0, 2000.0);
        // Equal draws whose mean is not exact.
        let still = Column::of("a", &vec![vec![0.1; 1000]; 4]);
        assert_eq!(still.summary.sd, 0.0);
        assert!(still.summary.ess_bulk.is_nan() && still.summary.mcse_mean.is_nan());
        let constant = Verdict::of(&[good(), still], &accepting(&[0.5; 4]));
        assert_eq!(constant.reasons, [Reason::Constant { parameter: "a".into() }]);
        // Three chains move, and one does not.
        let changes = vec![700, 0, 650, 720];
        let stuck = Column { changes, ..column("a", 4, 1.0, 2000.0) };
        let stuck = Verdict::of(&[good(), stuck], &accepting(&[]));
        let hardly =
            |changes| Reason::HardlyMoved { parameter: "a".into(), chain: 1, changes, draws: 1000 };
        assert_eq!(stuck.reasons, [hardly(0)]);
        let few = Column { changes: vec![700, 19, 650, 720], ..column("a", 4, 1.0, 2000.0) };
        assert_eq!(Verdict::of(&[few], &accepting(&[])).reasons, [hardly(19)]);
        let enough = Column { changes: vec![20; 4], ..column("a", 4, 1.0, 2000.0) };
        assert!(Verdict::of(&[enough], &accepting(&[f64::NAN; 4])).is_trusted());
        // Parameters that move given records that do not.
        let frozen = Verdict::of(&[good()], &accepting(&[0.4, 0.3, 1e-5, 0.2]));
        assert_eq!(frozen.reasons, [Reason::Refused { chain: 2, rate: 1e-5 }]);
        let alone = Verdict::of(&[column("a", 1, f64::NAN, 900.0)], &accepting(&[0.5]));
        assert_eq!(alone.reasons, [Reason::OneChain]);
        let nan = Column::of("a", &vec![vec![f64::NAN; 1000]; 2]);
        assert_eq!(
            Verdict::of(&[nan], &accepting(&[])).reasons[0],
            Reason::NotANumber { parameter: "a".into() }
        );
    }

    /// Chains that may not cross between modes are reported, as unknown if there is no other
    /// reason.
    #[test]
    fn pieces_that_are_not_crossed_are_said() {
        let good = || column("b", 4, 1.0, 2000.0);
        let of = |crossings: [Crossing; 4], log_density_rhat| {
            let crossings = crossings.to_vec();
            let run = RunFigures { crossings, log_density_rhat, ..accepting(&[0.5; 4]) };
            Verdict::of(&[good()], &run)
        };
        let swaps = Crossing::Swaps;
        assert!(of([Crossing::NotNeeded; 4], f64::NAN).is_trusted());
        assert!(of([swaps(0.3), swaps(0.01), swaps(0.2), swaps(0.3)], 1.09).is_trusted());
        let few = of([swaps(0.3), swaps(0.002), swaps(0.0), swaps(0.3)], 1.0);
        assert_eq!(few.reasons, [Reason::FewSwaps { chain: 2, rate: 0.0 }]);
        let none = of([swaps(0.3), Crossing::None, swaps(0.3), swaps(0.3)], 1.0);
        assert_eq!(none.reasons, [Reason::NoLadder]);
        let apart = of([Crossing::NotNeeded; 4], 1.3);
        assert_eq!(apart.reasons, [Reason::Apart { rhat: 1.3 }]);
        for verdict in [few, none, apart] {
            assert!(verdict.is_unknown() && !verdict.is_trusted());
            assert!(verdict.to_string().starts_with("It cannot be known"), "{verdict}");
            assert_eq!(serde_json::to_value(&verdict).unwrap()["unknown"], true);
        }
        let bad = RunFigures { crossings: vec![Crossing::None; 4], ..accepting(&[0.0; 4]) };
        let bad = Verdict::of(&[good()], &bad);
        assert!(!bad.is_unknown() && bad.to_string().starts_with("Do not trust this"));
    }

    /// A count that a sharp release determines may be constant, but not if the chains differ.
    #[test]
    fn counts_may_be_known() {
        let good = || column("p[a]", 4, 1.0, 2000.0);
        let still = |name: &str, value: f64| Column::of(name, &vec![vec![value; 1000]; 4]);
        assert!(
            Verdict::of(&[good(), still("count[a]", 12.0)], &accepting(&[0.5; 4])).is_trusted()
        );
        assert!(!Verdict::of(&[good(), still("mu", 12.0)], &accepting(&[0.5; 4])).is_trusted());
        assert!(!Verdict::of(&[good(), still("n", 12.5)], &accepting(&[0.5; 4])).is_trusted());
        let apart: Vec<Vec<f64>> = (0..4).map(|c| vec![f64::from(c); 1000]).collect();
        assert!(
            !Verdict::of(&[good(), Column::of("count[a]", &apart)], &accepting(&[0.5; 4]))
                .is_trusted()
        );
    }

    /// A comparison may hold in all draws, or in nearly all; but chains may not contradict each other.
    #[test]
    fn comparisons_may_be_settled() {
        let good = || column("p[a]", 4, 1.0, 2000.0);
        let compared = |chains: &[Vec<f64>]| Column::of("x", chains).comparison(true);
        let of = |column: Column| Verdict::of(&[good(), column], &accepting(&[0.5; 4]));
        for (value, bound) in [(1.0, "above 0.9985"), (0.0, "below 0.0015")] {
            let verdict = of(compared(&vec![vec![value; 1000]; 4]));
            assert!(verdict.is_trusted(), "{verdict}");
            let said =
                format!("x was {value} in all 4000 draws, so that its probability is {bound}");
            assert!(verdict.to_string().contains(&said), "{verdict}");
            let json = serde_json::to_value(&verdict).unwrap();
            assert_eq!(json["settled"][0]["parameter"], "x");
        }
        let mut nearly = vec![vec![1.0; 1000]; 4];
        nearly[2][500] = 0.0;
        nearly[1][20] = 0.0;
        assert!(of(compared(&nearly)).is_trusted());
        let apart: Vec<Vec<f64>> = (0..4).map(|c| vec![f64::from(c % 2); 1000]).collect();
        assert!(!of(compared(&apart)).is_trusted());
        // By its values alone nothing is a comparison: a chain may be stuck at 0.
        assert!(!of(Column::of("mu", &vec![vec![0.0; 1000]; 4])).is_trusted());
        let alone = Verdict::of(&[compared(&vec![vec![1.0; 1000]; 4])], &accepting(&[]));
        assert!(!alone.is_trusted() && alone.settled.is_empty());
    }

    #[test]
    fn all_reasons_are_said() {
        let still = Column::of("mu", &[vec![0.3; 1000]]);
        let verdict = Verdict::of(&[still], &accepting(&[0.0]));
        let text = verdict.to_string();
        for part in ["mu never moved", "chain 0 accepted 0.00%", "one chain cannot disagree"] {
            assert!(text.contains(part), "{part} is missing of: {text}");
        }
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(json["trusted"], false);
        let kinds: Vec<&str> = json["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["constant", "refused", "one_chain"]);
        assert!(json["reasons"][0]["message"].as_str().unwrap().contains("never moved"));
        let few = Verdict::of(&[Column::of("a", &[[1.0; 3], [1.0; 3]])], &accepting(&[]));
        assert_eq!(few.reasons, [Reason::TooFewDraws { draws: 3 }]);
    }
}
