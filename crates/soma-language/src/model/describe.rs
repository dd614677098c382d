//! A description of the parsed model.

use std::fmt::Write;

use super::Model;
use crate::check::{Law, Role, Shape, Variable};
use crate::distribution::Constraint;
use crate::graph::Fact;

impl Model {
    /// A description of the parsed model: data, parameters with supports and priors, the record.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let data: Vec<String> = self
            .names
            .iter()
            .filter(|(_, binding)| binding.role == Role::Data)
            .map(|(name, binding)| {
                match (binding.value.shape, self.graph.constant_value(binding.value.nodes[0])) {
                    (Shape::Scalar, Some(value)) => format!("{name} = {value}"),
                    (shape, _) => format!("{name}: {}", shape.words()),
                }
            })
            .collect();
        if !data.is_empty() {
            let _ = writeln!(text, "data: {}", data.join("; "));
        }
        let _ = writeln!(text, "parameters ({} in theta):", self.parameters.coordinates);
        for variable in &self.parameters.variables {
            let _ = writeln!(text, "  {}", self.variable(variable));
        }
        for definition in &self.parameters.definitions {
            let _ = writeln!(text, "  {} = {}", definition.name, definition.text);
        }
        let d = self.record.coordinates;
        let _ = writeln!(text, "record ({d} number{}):", if d == 1 { "" } else { "s" });
        for variable in &self.record.variables {
            let _ = writeln!(text, "  {}", self.variable(variable));
        }
        for definition in &self.record.definitions {
            let _ = writeln!(text, "  {} = {}", definition.name, definition.text);
        }
        text
    }

    fn variable(&self, variable: &Variable) -> String {
        let name = match variable.shape {
            Shape::Scalar => variable.name.clone(),
            Shape::Vector(n) => format!("{}[1..{n}]", variable.name),
            Shape::Matrix(rows, columns) => format!("{}[1..{rows}, 1..{columns}]", variable.name),
        };
        let support = match &variable.law {
            Law::Whole(family, _) => match family.constraint() {
                Constraint::Free => "any numbers".to_string(),
                Constraint::Simplex => "positive, sum 1".to_string(),
                Constraint::CorrelationFactor => {
                    "Cholesky factor of a correlation matrix".to_string()
                }
            },
            Law::Each(..) => support_words(self.graph.fact(variable.nodes[0])),
        };
        format!("{name} ~ {}    ({support})", variable.text)
    }
}

/// An interval in words.
pub(crate) fn support_words(fact: Fact) -> String {
    let kind = if fact.integer { "whole number" } else { "number" };
    if fact.is_indicator() && fact.low < fact.high {
        return "0 or 1".into();
    }
    match (fact.low.is_finite(), fact.high.is_finite()) {
        (false, false) => format!("any {kind}"),
        (true, false) if fact.low == 0.0 && !fact.integer => "positive".into(),
        (true, false) => format!("{kind} from {} up", fact.low),
        (false, true) => format!("{kind} up to {}", fact.high),
        (true, true) => format!("{kind} from {} to {}", fact.low, fact.high),
    }
}
