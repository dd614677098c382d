//! The unconstrained parameters given the records, with first and second derivatives.

use super::{Formulas, Given, Model};
use crate::graph::Node;
use crate::program::{Inputs, Program, Workspace};

/// The largest number of parameters with second derivatives, since their number and the program
/// grow quadratically.
const MOST_PARAMETERS: usize = 16;

/// The approximate time for each record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nanoseconds {
    /// Of [`propose`](Model::propose).
    pub propose: f64,
    /// Of [`forward`](Model::forward).
    pub forward: f64,
    /// Of [`inverse`](Model::inverse).
    pub inverse: f64,
    /// Of [`sums`](Model::sums); 0 if there are none.
    pub sums: f64,
    /// Of [`log_density_free`](Model::log_density_free) given these, or the records.
    pub density: f64,
    /// Of [`log_posterior`](Model::log_posterior) given the same, if it is available.
    pub posterior: Option<f64>,
}

impl Formulas<'_> {
    /// The log posterior density of the unconstrained parameters given records, up to a constant.
    pub(super) fn density_free(
        &self,
        log_prior_free: Node,
        log_likelihood: Node,
        constrained: &[Node],
    ) -> Node {
        let mut graph = self.graph.borrow_mut();
        let likelihood = graph.substitute(&[log_likelihood], &self.theta, constrained)[0];
        graph.add(log_prior_free, likelihood)
    }

    /// This density, its gradient, and the rows of the lower triangle of its second derivatives.
    pub(super) fn posterior_free(&self, value: Node) -> Option<Vec<Node>> {
        if self.free.len() > MOST_PARAMETERS {
            return None;
        }
        let mut graph = self.graph.borrow_mut();
        let gradient = graph.gradient(value, &self.free);
        let mut nodes = vec![value];
        nodes.extend(&gradient);
        for (i, &slope) in gradient.iter().enumerate() {
            nodes.extend(graph.gradient(slope, &self.free[..=i]));
        }
        Some(nodes)
    }
}

impl Model {
    /// Whether [`log_posterior`](Model::log_posterior) is available: up to 16 parameters.
    pub fn has_log_posterior(&self) -> bool {
        self.programs.posterior.is_some()
    }

    /// The approximate nanoseconds for each of `n` records.
    pub fn nanoseconds(&self, n: usize) -> Nanoseconds {
        let p = &self.programs;
        let of = |program: &Program| program.nanoseconds(n);
        let (sums, density, posterior) = match &p.sufficient {
            Some(sufficient) => sufficient.nanoseconds(n),
            None => (0.0, of(&p.density_free), p.posterior.as_ref().map(of)),
        };
        Nanoseconds {
            propose: of(&p.propose),
            forward: of(&p.forward),
            inverse: of(&p.inverse),
            sums,
            density,
            posterior,
        }
    }

    /// The unnormalised log posterior density of the unconstrained parameters given the records. With sums and
    /// with records it differs by a constant.
    pub fn log_density_free(
        &self,
        free: &[f64],
        given: Given<'_>,
        workspace: &mut Workspace,
    ) -> f64 {
        let mut value = [0.0];
        let (inputs, n) = self.inputs(free, given);
        let program = match (given, &self.programs.sufficient) {
            (Given::Sums(_), Some(sufficient)) => sufficient.density(),
            _ => &self.programs.density_free,
        };
        program.run(inputs, n, workspace, &mut value, &mut []);
        value[0]
    }

    /// The same with derivatives. `slopes` receives its gradient and then the rows of the lower triangle of its second
    /// derivatives. NaN if the model has too many parameters.
    pub fn log_posterior(
        &self,
        free: &[f64],
        given: Given<'_>,
        slopes: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let (inputs, n) = self.inputs(free, given);
        let program = match (given, &self.programs.sufficient) {
            (Given::Sums(_), Some(sufficient)) => sufficient.posterior(),
            _ => self.programs.posterior.as_ref(),
        };
        program.map_or(f64::NAN, |program| program.value_and_slopes(inputs, n, slopes, workspace))
    }

    /// The inputs of a program, and the number of rows that it runs over.
    fn inputs<'a>(&self, free: &'a [f64], given: Given<'a>) -> (Inputs<'a>, usize) {
        match given {
            Given::Records(records) => {
                let n = records.len() / self.record.coordinates;
                (Inputs { free, records, ..Inputs::default() }, n)
            }
            Given::Sums(beside) => (Inputs { free, beside, ..Inputs::default() }, 0),
        }
    }
}
