//! The table `[plan]`: the designs, budgets and numbers of records that a curator compares.

mod change;

use toml::Table as Toml;

use super::release::PART_KEYS;
use super::value::{Table, Value};
use super::{Spec, SpecError, data, with_place};
use crate::error::{Invalid, listed};
use crate::plan::{Plan, Setting, Target};

/// What is said of a plan, in the table `[plan]` or on a command line. What is left out has a
/// default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// Total budgets: of epsilon, or of rho where the mechanisms have that.
    pub budgets: Option<Vec<f64>>,
    /// Numbers of records.
    pub n: Option<Vec<u64>>,
    /// Targets.
    pub targets: Option<Vec<Target>>,
    /// Simulated data sets.
    pub replications: Option<u64>,
    /// Warm-up of each fit.
    pub warmup: Option<u64>,
    /// Draws of each fit.
    pub draws: Option<u64>,
    /// The seed.
    pub seed: Option<u64>,
}

impl PlanOptions {
    fn overridden_by(self, other: PlanOptions) -> PlanOptions {
        PlanOptions {
            budgets: other.budgets.or(self.budgets),
            n: other.n.or(self.n),
            targets: other.targets.or(self.targets),
            replications: other.replications.or(self.replications),
            warmup: other.warmup.or(self.warmup),
            draws: other.draws.or(self.draws),
            seed: other.seed.or(self.seed),
        }
    }
}

impl Plan {
    /// The plan of a spec, with what `options` say in the place of its table `[plan]`.
    ///
    /// ```
    /// use soma::{plan::Plan, spec::PlanOptions};
    /// let text = r#"
    ///     [release]
    ///     n = 100
    ///     statistic = "mean"
    ///     query = { kind = "mean", clamp = [0.0, 20.0] }
    ///     mechanism = { kind = "laplace" }
    ///
    ///     [model]
    ///     kind = "exponential"
    ///     prior = { kind = "gamma", shape = 1.0, rate = 1.0 }
    /// "#;
    /// let options = PlanOptions { budgets: Some(vec![1.0, 3.0]), ..PlanOptions::default() };
    /// let plan = Plan::parse(text, options)?;
    /// assert_eq!((plan.settings.len(), plan.budget), (2, "epsilon"));
    /// # Ok::<(), soma::spec::SpecError>(())
    /// ```
    pub fn parse(text: &str, options: PlanOptions) -> Result<Self, SpecError> {
        let (said, designs, parameters, columns) = with_place(text, |root| {
            let columns = data::read(root)?.names.map_or(1, |names| names.len());
            let Some(value) = root.get("plan") else {
                return Ok((PlanOptions::default(), Vec::new(), None, columns));
            };
            let table = value.table("epsilon, n, target, parameters, replications and designs")?;
            let (said, designs) = (read(&table)?, designs(&table)?);
            let parameters = match table.get("parameters") {
                Some(value) => Some(stated(&value)?),
                None => None,
            };
            Ok((said, designs, parameters, columns))
        })?;
        let said = said.overridden_by(options);
        let whole: Toml = text.parse().unwrap_or_default();
        let wrong = |invalid: Invalid| with_place::<()>(text, |_| Err(invalid.clone()));
        let fail = |invalid: Invalid| wrong(invalid).expect_err("an error");
        let ns: Vec<Option<u64>> = match &said.n {
            Some(ns) => ns.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let budgets: Vec<Option<f64>> = match &said.budgets {
            Some(budgets) => budgets.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let designs: Vec<(String, Toml)> = match designs.is_empty() {
            true => vec![("as stated".to_string(), Toml::new())],
            false => designs.into_iter().zip(change::tables(&whole)).collect(),
        };
        let mut settings = Vec::new();
        let mut kind = "epsilon";
        for (i, (design, keys)) in designs.iter().enumerate() {
            for n in &ns {
                for budget in &budgets {
                    let mut root = whole.clone();
                    let total = change::apply(&mut root, keys, *n, *budget).map_err(fail)?;
                    let changed = toml::to_string(&root).unwrap_or_default();
                    let spec = Spec::parse_unpublished(&changed, columns).map_err(|error| {
                        match (keys.is_empty(), Spec::parse_unpublished(text, columns)) {
                            // Without a design the fault stands in the text as it is.
                            (true, Err(own)) if own.invalid == error.invalid => own,
                            (true, _) => fail(*error.invalid),
                            (false, _) => {
                                let field = format!("plan.designs[{i}]");
                                if !error.invalid.mistakes.is_empty() {
                                    return fail(moved(*error.invalid, keys, &field));
                                }
                                let problem = format!(
                                    "the design \"{design}\" is wrong: {}: {}",
                                    error.invalid.field, error.invalid.problem
                                );
                                let Invalid { given, allowed, .. } = *error.invalid;
                                fail(Invalid::new(field, problem, given, allowed))
                            }
                        }
                    })?;
                    let budget = total.map(|(name, total)| {
                        kind = name;
                        total
                    });
                    let problem = spec.problem;
                    settings.push(Setting { design: design.clone(), budget, problem });
                }
            }
        }
        let truth = match (parameters, settings.first()) {
            (Some(given), Some(first)) => {
                Some(in_order(given, &first.problem.model().parameters()).map_err(fail)?)
            }
            _ => None,
        };
        let plan = Plan {
            settings,
            budget: kind,
            truth,
            targets: said.targets.unwrap_or_default(),
            replications: said.replications.unwrap_or(Plan::REPLICATIONS),
            warmup: said.warmup.unwrap_or(Plan::WARMUP),
            draws: said.draws.unwrap_or(Plan::DRAWS),
            seed: said.seed.unwrap_or(1),
        };
        plan.check().map_err(fail)?;
        Ok(plan)
    }
}

/// The mistakes of a spec that a design was put into: those in what the design states stand in its
/// table, at `field`.
fn moved(mut invalid: Invalid, design: &Toml, field: &str) -> Invalid {
    let is_own = |path: &str| {
        let key = path.strip_prefix("release.").and_then(|rest| rest.split(['.', '[']).next());
        key.is_some_and(|key| design.contains_key(key))
    };
    for mistake in invalid.mistakes.iter_mut().filter(|mistake| is_own(&mistake.block)) {
        mistake.block = mistake.block.replacen("release", field, 1);
    }
    invalid
}

const KEYS: [&str; 10] = [
    "epsilon",
    "rho",
    "n",
    "target",
    "parameters",
    "replications",
    "warmup",
    "draws",
    "seed",
    "designs",
];

fn read(table: &Table) -> Result<PlanOptions, Invalid> {
    table.only(&KEYS)?;
    let numbers = |value: &Value| {
        if value.is_list() { value.numbers() } else { Ok(vec![value.number()?]) }
    };
    let budgets = match (table.get("epsilon"), table.get("rho")) {
        (Some(_), Some(rho)) => {
            let allowed = "epsilon, or rho where the noise is Gaussian";
            return Err(Invalid::new(rho.path(), "there is one budget", "both", allowed));
        }
        (epsilon, rho) => epsilon.or(rho).map(|value| numbers(&value)).transpose()?,
    };
    let n = match table.get("n") {
        Some(n) if n.is_list() => {
            let whole = |value: &Value| value.whole(1..=1_000_000_000);
            Some(n.list("numbers of records")?.iter().map(whole).collect::<Result<_, _>>()?)
        }
        Some(n) => Some(vec![n.whole(1..=1_000_000_000)?]),
        None => None,
    };
    let targets = table.get("target").map(|value| {
        let texts = if value.is_list() { value.texts()? } else { vec![value.text()?] };
        let read = |text: &String| Target::parse(text).map_err(|i| i.under(table.path()));
        texts.iter().map(read).collect::<Result<Vec<_>, _>>()
    });
    let whole = |key: &str| table.get(key).map(|value| value.whole(0..=1 << 40)).transpose();
    Ok(PlanOptions {
        budgets,
        n,
        targets: targets.transpose()?,
        replications: whole("replications")?,
        warmup: whole("warmup")?,
        draws: whole("draws")?,
        seed: whole("seed")?,
    })
}

/// The name of each design; which keys of `[release]` it changes is checked.
fn designs(table: &Table) -> Result<Vec<String>, Invalid> {
    let Some(value) = table.get("designs") else { return Ok(Vec::new()) };
    let allowed = "tables [[plan.designs]], each with a name and keys of [release] to change";
    let read = |(i, value): (usize, &Value)| {
        let own = value.table(allowed)?;
        own.only(&[&["name", "n", "neighbours", "parts"], &PART_KEYS[..]].concat())?;
        match own.get("name") {
            Some(name) => name.text(),
            None => Ok(format!("design {}", i + 1)),
        }
    };
    value.list(allowed)?.iter().enumerate().map(read).collect()
}

/// `parameters = { beta0 = 1.0, ... }`.
fn stated(value: &Value) -> Result<Vec<(String, f64)>, Invalid> {
    let table = value.table("a value for each parameter, such as { mu = 1.0, sigma2 = 2.0 }")?;
    let number = |name: &str| Ok((name.to_string(), table.need(name, "a number")?.number()?));
    table.keys().map(number).collect()
}

/// The stated parameters in the order of the model's.
fn in_order(given: Vec<(String, f64)>, names: &[String]) -> Result<Vec<f64>, Invalid> {
    if let Some((stray, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
        let problem = "the model has no such parameter";
        return Err(Invalid::new("plan.parameters", problem, stray, listed(names)));
    }
    let value = |name: &String| {
        let own = given.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
        own.ok_or_else(|| {
            let allowed = format!("a value for each of {}", listed(names));
            Invalid::new("plan.parameters", format!("{name} is missing"), "no value", allowed)
        })
    };
    names.iter().map(value).collect()
}
