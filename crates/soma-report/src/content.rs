//! What a report shows, in numbers.

use soma::diagnostics::{Settled, Summary, Verdict, quantile};

/// What kind of quantity a draw holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A parameter of the model, or the number of records.
    Parameter,
    /// A quantity that was derived from others.
    Derived,
    /// A true count of a cell or of a margin.
    Count,
}

/// One quantity of a draw.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub group: Group,
    /// Its row of the table.
    pub summary: Summary,
    /// The draws of each chain; empty, where there are too many quantities for figures of all.
    pub chains: Vec<Vec<f64>>,
    /// Draws from its prior, sorted; empty, where it has no proper prior or it is not known.
    pub prior: Vec<f64>,
    /// The answer that takes the published values for the truth.
    pub plug_in: Option<PlugIn>,
    /// Whether it is a comparison: 0 or 1 in every draw, so that its mean is a probability.
    pub is_comparison: bool,
}

/// An answer that ignores noise and clamping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlugIn {
    /// The estimate.
    pub estimate: f64,
    /// The ends of a 90% interval, where there is one.
    pub interval: Option<(f64, f64)>,
}

/// The fewest draws of a prior that say something.
const FEWEST: usize = 100;

impl Parameter {
    /// All draws in one row, sorted.
    pub fn sorted(&self) -> Vec<f64> {
        let mut all = self.chains.concat();
        all.retain(|x| x.is_finite());
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// Whether the draws can be drawn as a figure. Those of a comparison say no more than its
    /// probability does.
    pub fn is_drawn(&self) -> bool {
        let has_draws = self.chains.iter().any(|chain| !chain.is_empty());
        has_draws && self.summary.mean.is_finite() && !self.is_comparison
    }

    /// The probability that a comparison has before the release was seen.
    pub fn prior_probability(&self) -> Option<f64> {
        let size = self.prior.len();
        let is_known = self.is_comparison && size >= FEWEST;
        is_known.then(|| self.prior.iter().sum::<f64>() / size as f64)
    }

    /// The ends of the central 90% of the prior; a comparison has none.
    pub fn prior_interval(&self) -> Option<(f64, f64)> {
        let ends = [0.05, 0.95].map(|p| quantile(&self.prior, p));
        (self.prior.len() >= FEWEST && !self.is_comparison).then_some((ends[0], ends[1]))
    }

    /// The share of the prior variance that the release removed, by the squared widths of the central
    /// 90%: of a normal law they are in proportion to its variance, and they are there for a prior
    /// that has no variance. Negative, where the posterior is wider than the prior.
    pub fn learned(&self) -> Option<f64> {
        let (low, high) = self.prior_interval().filter(|(low, high)| high > low)?;
        let width = (self.summary.q95 - self.summary.q5) / (high - low);
        width.is_finite().then_some(1.0 - width * width)
    }
}

/// A published value.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What it is.
    pub label: String,
    /// The value, as it was published.
    pub value: f64,
}

/// A published value among those of replicated releases.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// What it is.
    pub label: String,
    /// The value, as it was published.
    pub published: f64,
    /// The values of replicated releases, sorted.
    pub replicated: Vec<f64>,
}

impl Predicted {
    /// Twice the smaller share of replicated values on one side of the published one, at most 1.
    pub fn p_value(&self) -> f64 {
        let size = self.replicated.len() as f64;
        let below = self.replicated.partition_point(|x| *x <= self.published) as f64;
        let above = size - self.replicated.partition_point(|x| *x < self.published) as f64;
        (2.0 * below.min(above) / size).min(1.0)
    }
}

/// Whether draws can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing speaks against them.
    Trusted,
    /// It cannot be known.
    Unknown,
    /// Something speaks against them.
    Untrusted,
}

impl Trust {
    /// What a verdict says, in one word.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            verdict if verdict.is_trusted() => Trust::Trusted,
            verdict if verdict.is_unknown() => Trust::Unknown,
            _ => Trust::Untrusted,
        }
    }
}

/// What a report shows.
#[derive(Debug, Clone)]
pub struct Content {
    /// What the report is about: the name of a spec or a folder.
    pub title: String,
    /// What was published and its law, in words.
    pub release: Option<String>,
    /// The published values.
    pub published: Vec<Published>,
    /// The model: its kind, or its text.
    pub model: Option<String>,
    /// The quantities of a draw.
    pub parameters: Vec<Parameter>,
    /// The log density of the release at each draw, by chain.
    pub log_density: Vec<Vec<f64>>,
    /// The release among replicated ones; or why there are none.
    pub predicted: Result<Vec<Predicted>, String>,
    /// How many releases were replicated.
    pub replications: usize,
    /// Whether the draws can be trusted.
    pub trust: Trust,
    /// The same in words, with what to do where they cannot.
    pub verdict: String,
    /// The comparisons that were the same in all draws, with what is known of their probability.
    pub settled: Vec<Settled>,
    /// How the run was made: names and values, in order.
    pub settings: Vec<(String, String)>,
    /// The spec, where there is one.
    pub spec: Option<String>,
    /// The version of the program.
    pub version: String,
    /// What a reader has to know before all else, such as that the run was stopped.
    pub notes: Vec<String>,
}

impl Content {
    /// Keeps the quantities of these names alone, in the order given. The error has the first name
    /// that no quantity has.
    pub fn keep(&mut self, names: &[String]) -> Result<(), String> {
        let mut kept = Vec::with_capacity(names.len());
        for name in names {
            match self.parameters.iter().position(|parameter| parameter.name == *name) {
                Some(at) => kept.push(self.parameters.remove(at)),
                None if kept.iter().any(|other: &Parameter| other.name == *name) => {}
                None => return Err(name.clone()),
            }
        }
        self.parameters = kept;
        Ok(())
    }

    /// The quantities of a group.
    pub fn of(&self, group: Group) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(move |parameter| parameter.group == group)
    }

    /// The label of a count, and the published value of that count; or else that of the published
    /// value of the same label, such as the number of reports. What several parts have is not told.
    pub fn published_of<'a>(&self, count: &'a Parameter) -> (&'a str, Option<f64>) {
        let name = count.name.as_str();
        let label = name.strip_prefix("count[").and_then(|rest| rest.strip_suffix(']'));
        let label = label.unwrap_or(name);
        let is_it = |other: &str| {
            other == label || other.split_once(": ").is_some_and(|(_, rest)| rest == label)
        };
        let mut found = self.published.iter().filter(|published| is_it(&published.label));
        let first = found.next().map(|published| published.value);
        let same = first.filter(|_| found.next().is_none());
        (label, count.plug_in.map(|published| published.estimate).or(same))
    }

    /// At most `most` quantities that figures are drawn of: derived ones first, then parameters, then
    /// counts.
    pub fn drawn(&self, most: usize) -> Vec<&Parameter> {
        let groups = [Group::Derived, Group::Parameter, Group::Count];
        let all = groups.into_iter().flat_map(|group| self.of(group));
        all.filter(|parameter| parameter.is_drawn()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_value_counts_both_sides() {
        let predicted = |published| Predicted {
            label: "a".into(),
            published,
            replicated: vec![1.0, 2.0, 2.0, 3.0, 4.0],
        };
        let of = |published| predicted(published).p_value();
        assert_eq!([of(0.0), of(1.0), of(2.0), of(4.0), of(9.0)], [0.0, 0.4, 1.0, 0.4, 0.0]);
    }

    #[test]
    fn a_comparison_has_a_probability_and_no_figure() {
        let draws = vec![vec![1.0, 1.0, 0.0, 1.0]];
        let parameter = Parameter {
            name: "a".into(),
            group: Group::Derived,
            summary: Summary::of(&draws),
            chains: draws,
            prior: [vec![0.0; 150], vec![1.0; 50]].concat(),
            plug_in: None,
            is_comparison: true,
        };
        assert_eq!(parameter.prior_probability(), Some(0.25));
        assert_eq!((parameter.prior_interval(), parameter.learned()), (None, None));
        assert!(!parameter.is_drawn());
    }

    #[test]
    fn the_share_removed_is_that_of_the_variance() {
        let draws: Vec<f64> = (0..1001).map(f64::from).collect();
        let half: Vec<f64> = draws.iter().map(|x| 0.5 * x).collect();
        let parameter = Parameter {
            name: "a".into(),
            group: Group::Parameter,
            summary: Summary::of(&[half]),
            chains: Vec::new(),
            prior: draws,
            plug_in: None,
            is_comparison: false,
        };
        assert!((parameter.learned().unwrap() - 0.75).abs() < 1e-9);
        assert_eq!(Parameter { prior: Vec::new(), ..parameter }.learned(), None);
    }
}
