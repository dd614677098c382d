//! Numbers that a model computes from theta.

use std::sync::Arc;

use soma_language::Model;

use crate::error::{Invalid, listed};
use crate::numeric::workspace::run;

/// A name with more numbers than this is an output only where the user names it.
pub const MOST_COMPUTED: usize = 50;

/// The numbers that the text of the parameters computes from theta and that are outputs: the
/// remaining entries of shares and of factors of correlations, and what `=` defines.
#[derive(Debug, Clone)]
pub struct Computed {
    text: Arc<Model>,
    /// The places of the outputs among all numbers that the text computes.
    places: Vec<usize>,
    names: Vec<String>,
    left_out: Vec<(String, usize)>,
}

impl Computed {
    /// Of the names in the text that have at most [`MOST_COMPUTED`] numbers.
    pub(super) fn of(text: &Arc<Model>) -> Self {
        Computed::with(text, |_, count| count <= MOST_COMPUTED)
    }

    /// Of these names in the text, in the order of the text.
    pub(super) fn of_names(text: &Arc<Model>, names: &[String]) -> Result<Self, Invalid> {
        let known: Vec<&str> =
            text.derived_quantities().iter().map(|(name, _)| name.as_str()).collect();
        let wrong = |name: &&String| !known.contains(&name.as_str());
        if let Some(name) = names.iter().find(wrong) {
            let is_theta = text.parameters().iter().any(|parameter| {
                parameter
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
            });
            let problem = match is_theta {
                true => "a parameter is an output in any case",
                false => "the text of the parameters computes no such name from them",
            };
            let allowed = match known.is_empty() {
                true => "a line such as difference = high - low in the parameters".to_string(),
                false => listed(&known),
            };
            return Err(Invalid::new("outputs", problem, format!("{name:?}"), allowed));
        }
        let is_named = |name: &str, _| names.iter().any(|other| other == name);
        Ok(Computed { left_out: Vec::new(), ..Computed::with(text, is_named) })
    }

    fn with(text: &Arc<Model>, is_output: impl Fn(&str, usize) -> bool) -> Self {
        let (mut places, mut left_out, mut first) = (Vec::new(), Vec::new(), 0);
        for (name, count) in text.derived_quantities() {
            match is_output(name, *count) {
                true => places.extend(first..first + count),
                false => left_out.push((name.clone(), *count)),
            }
            first += count;
        }
        let names = places.iter().map(|&place| text.derived_names()[place].clone()).collect();
        Computed { text: Arc::clone(text), places, names, left_out }
    }

    /// The names of the numbers, in the order of the text.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the comparisons: numbers that are 0 or 1 at every theta.
    pub fn comparisons(&self) -> impl Iterator<Item = &str> {
        let facts = self.places.iter().map(|&place| self.text.derived_facts()[place]);
        let all = self.names.iter().zip(facts).filter(|(_, fact)| fact.is_indicator());
        all.map(|(name, _)| name.as_str())
    }

    /// The names in the text that have too many numbers, with how many.
    pub fn left_out(&self) -> &[(String, usize)] {
        &self.left_out
    }

    /// The numbers at the theta with which a draw begins: NaN where it has a NaN.
    pub fn values(&self, draw: &[f64]) -> Vec<f64> {
        let theta = &draw[..self.text.theta_dim()];
        if theta.iter().any(|x| x.is_nan()) {
            return vec![f64::NAN; self.places.len()];
        }
        let mut all = vec![0.0; self.text.derived_names().len()];
        run(|workspace| self.text.derived(theta, &mut all, workspace));
        self.places.iter().map(|&place| all[place]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use soma_language::Data;

    const TEXT: &str = "m ~ normal(0, 1)\nb[1..51] ~ normal(0, 1)\np[1..2] ~ dirichlet([1, 1])\n\
                        twice = 2 * b\nhalf = b[1..50] / 2\nis_above = m > 0\nfixed = 3";

    fn text() -> Arc<Model> {
        Arc::new(Model::new(TEXT, "x ~ normal(0, 1)", &Data::new()).unwrap())
    }

    #[test]
    fn long_vectors_are_left_out() {
        let computed = Computed::of(&text());
        assert_eq!(computed.names().len(), 52);
        assert_eq!(computed.left_out(), [("twice".to_string(), 51)]);
        assert_eq!(computed.comparisons().collect::<Vec<_>>(), ["is_above"]);
        let mut theta = vec![0.0; 53];
        (theta[0], theta[1], theta[50], theta[52]) = (-1.0, 3.0, 7.0, 0.25);
        let values = computed.values(&theta);
        assert_eq!((values[0], values[1], values[50], values[51]), (0.75, 1.5, 3.5, 0.0));
        theta[7] = f64::NAN;
        assert!(computed.values(&theta).iter().all(|x| x.is_nan()));
    }

    #[test]
    fn outputs_are_named() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            Computed::of_names(&text(), &names)
        };
        let computed = named(&["is_above", "twice"]).unwrap();
        assert_eq!((computed.names().len(), computed.left_out().len()), (52, 0));
        assert_eq!(computed.names()[50..], ["twice[51]", "is_above"]);
        assert!(named(&[]).unwrap().names().is_empty());
        for (name, problem) in [
            ("m", "in any case"),
            ("b", "in any case"),
            ("fixed", "no such name"),
            ("q", "no such"),
        ] {
            let error = named(&[name]).unwrap_err();
            assert!(error.problem.contains(problem), "{error}");
            assert_eq!(error.allowed, "p, twice, half, is_above");
        }
    }
}
