//! The unconstrained parameters given the records, with first and second derivatives.

use super::{Formulas, Model};
use crate::graph::Node;
use crate::program::{Inputs, Workspace};

/// The largest number of parameters with second derivatives, since their number and the program
/// grow quadratically.
const MOST_PARAMETERS: usize = 16;

impl Formulas<'_> {
    /// The log posterior density of the unconstrained parameters given records, up to a constant,
    /// its gradient, and the rows of the lower triangle of its second derivatives.
    pub(super) fn posterior_free(
        &self,
        log_prior_free: Node,
        log_likelihood: Node,
        constrained: &[Node],
    ) -> Option<Vec<Node>> {
        if self.free.len() > MOST_PARAMETERS {
            return None;
        }
        let mut graph = self.graph.borrow_mut();
        let likelihood = graph.substitute(&[log_likelihood], &self.theta, constrained)[0];
        let value = graph.add(log_prior_free, likelihood);
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

    /// The approximate nanoseconds per record of [`propose`](Model::propose),
    /// [`forward`](Model::forward), [`inverse`](Model::inverse) and
    /// [`log_posterior`](Model::log_posterior), or of the likelihood if that is not available.
    pub fn nanoseconds(&self) -> [f64; 4] {
        let p = &self.programs;
        let theta = p.posterior.as_ref().unwrap_or(&p.log_likelihood);
        [&p.propose, &p.forward, &p.inverse, theta].map(|program| program.nanoseconds())
    }

    /// The unnormalised log posterior density of the unconstrained parameters given the records.
    /// `slopes` receives its gradient and then the rows of the lower triangle of its second
    /// derivatives. NaN if the model has too many parameters.
    pub fn log_posterior(
        &self,
        free: &[f64],
        records: &[f64],
        slopes: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let Some(program) = &self.programs.posterior else { return f64::NAN };
        let inputs = Inputs { free, records, ..Inputs::default() };
        let n = records.len() / self.record.coordinates;
        program.value_and_slopes(inputs, n, slopes, workspace)
    }
}
