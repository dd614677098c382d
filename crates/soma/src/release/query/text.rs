//! Statistics written as text.

use std::fmt::{self, Debug, Formatter};

use soma_language::program::Program;
use soma_language::{Mistakes, Neighbours, Statistics};

use super::{ClampedMoments, MomentTerm, Query, Sensitivity};
use crate::error::Outcome;
use crate::numeric::workspace;

/// Expressions of the variables of a record, in the language of models (`docs/language.md`). Their
/// bounds and sensitivity follow by interval arithmetic.
pub struct Text {
    text: Statistics,
}

impl Debug for Text {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.debug_struct("Text").field("labels", &self.text.labels()).finish_non_exhaustive()
    }
}

impl Text {
    /// The statistics of records of `model`.
    pub fn new(texts: &[String], model: &soma_language::Model) -> Result<Self, Mistakes> {
        Ok(Text { text: Statistics::new(texts, model)? })
    }
}

impl Query for Text {
    fn kind(&self) -> &'static str {
        "text"
    }

    fn record_dim(&self) -> usize {
        self.text.record_dim()
    }

    fn dim(&self) -> usize {
        self.text.dim()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        workspace::run(|workspace| self.text.evaluate(records, out, workspace));
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.text.bounds()
    }

    fn sensitivity(&self) -> Sensitivity {
        let soma_language::Sensitivity { l1, l2 } = self.text.sensitivity(Neighbours::Replace);
        Sensitivity { l1, l2 }
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        let soma_language::Sensitivity { l1, l2 } = self.text.sensitivity(Neighbours::AddRemove);
        Sensitivity { l1, l2 }
    }

    fn reads(&self, c: usize) -> bool {
        self.text.reads(c)
    }

    fn labels(&self) -> Vec<String> {
        self.text.labels().to_vec()
    }

    fn is_integer(&self) -> bool {
        self.text.is_integer()
    }

    fn bins(&self) -> Option<usize> {
        self.text.bins()
    }

    fn counts_records(&self) -> bool {
        let values = self.text.values().filter(|_| self.text.bins().is_some());
        values.is_some_and(|values| values.iter().all(|value| value.iter().sum::<f64>() == 1.0))
    }

    fn programs(&self) -> Option<Vec<Program>> {
        Some(vec![self.text.program().clone()])
    }

    fn text(&self) -> Option<&Statistics> {
        Some(&self.text)
    }

    fn describe(&self) -> Option<String> {
        Some(self.text.describe())
    }

    fn clamped_moments(&self) -> Option<ClampedMoments> {
        let moments = self.text.clamped_moments()?;
        let term = |term: &soma_language::MomentTerm| MomentTerm {
            variables: term.variables,
            offset: term.offset,
            factor: term.factor,
        };
        Some(ClampedMoments {
            centre: moments.centre.clone(),
            half_width: moments.half_width.clone(),
            terms: moments.terms.iter().map(term).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use soma_language::{Data, Model};

    /// Indicators of one variable are 1 at most once, whichever way neighbours differ.
    #[test]
    fn presence_moves_one_indicator() {
        let record = "k ~ categorical([1, 1, 1, 1])\nx ~ normal(m, 1)";
        let model = Model::new("m ~ normal(0, 1)", record, &Data::new()).unwrap();
        let query = Text::new(&["one_hot(k, 4)".to_string()], &model).unwrap();
        assert_eq!(query.sensitivity(), Sensitivity { l1: 2.0, l2: 2f64.sqrt() });
        assert_eq!(query.sensitivity_to_presence(), Sensitivity { l1: 1.0, l2: 1.0 });
        assert!(query.reads(0) && !query.reads(1));
        assert!(query.counts_records());
        let some = Text::new(&["k == 1".to_string(), "k == 2".to_string()], &model).unwrap();
        assert!(!some.counts_records());
    }
}
