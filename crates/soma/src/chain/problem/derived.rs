//! What is derived from the outputs of a draw: by the text of the model, and by expressions of the
//! user.

use std::sync::Arc;

use super::Problem;
use crate::chain::Derived;
use crate::error::Invalid;
use crate::model::Computed;

impl Problem {
    /// Adds derived quantities: named expressions of the outputs, and of `n` where it is public, in
    /// order.
    pub fn with_derived_quantities(
        mut self,
        expressions: &[(String, String)],
    ) -> Result<Self, Invalid> {
        let mut names = self.plain_outputs();
        names.extend_from_slice(self.computed_names());
        let names = Derived::inputs(names);
        self.derived = Some(Arc::new(Derived::new(expressions, &names)?));
        Ok(self)
    }

    /// No name that the model computes may be that of another output.
    pub(super) fn check_computed(&self) -> Result<(), Invalid> {
        let outputs = self.plain_outputs();
        match self.computed_names().iter().find(|name| outputs.contains(name)) {
            None => Ok(()),
            Some(name) => Err(Invalid::new(
                "model.parameters",
                "another output has the name of what is computed",
                name,
                "another name; or outputs = [...] beside parameters, without this one",
            )),
        }
    }

    /// The names of the outputs: theta, or summaries of the records if theta is fixed; the number
    /// of records if it is unknown; what the model computes from theta; and derived quantities.
    pub fn outputs(&self) -> Vec<String> {
        [self.plain_outputs(), self.derived_names()].concat()
    }

    /// The names of all that is derived from the other outputs and comes last in a draw: what the
    /// model computes from theta, and the derived quantities that were added.
    pub fn derived_names(&self) -> Vec<String> {
        let added = self.derived.as_ref().map_or(&[][..], |derived| derived.names());
        [self.computed_names(), added].concat()
    }

    /// What the model computes from theta, unless theta is fixed.
    pub fn computed(&self) -> Option<&Computed> {
        self.given.computed().filter(|_| self.fixed.is_none())
    }

    fn computed_names(&self) -> &[String] {
        self.computed().map_or(&[], Computed::names)
    }

    /// The names of those derived quantities that are comparisons: 0 or 1 in every draw.
    pub fn comparisons(&self) -> Vec<String> {
        let computed = self.computed().into_iter().flat_map(Computed::comparisons);
        let added = self.derived.iter().flat_map(|derived| derived.comparisons());
        computed.chain(added).map(String::from).collect()
    }

    /// The number of outputs.
    pub fn output_count(&self) -> usize {
        let added = self.derived.as_ref().map_or(0, |derived| derived.names().len());
        self.plain_output_count() + self.computed_names().len() + added
    }

    /// Appends what is derived from them to the outputs of a draw.
    pub fn with_derived(&self, mut draw: Vec<f64>) -> Vec<f64> {
        if let Some(computed) = self.computed() {
            let values = computed.values(&draw);
            draw.extend(values);
        }
        if let Some(derived) = &self.derived {
            let plain = draw.len();
            // A public n stands after the outputs; otherwise the last of them is n.
            draw.push(self.release.n() as f64);
            let values = derived.values(&draw);
            draw.truncate(plain);
            draw.extend(values);
        }
        draw
    }
}
