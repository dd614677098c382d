//! Records as functions of theta and of standard noise, x = T(theta, e).

use super::{Formulas, Noise};
use crate::check::Law;
use crate::graph::{Fact, Input, Level, Node, Source, Term};

/// The largest record with an explicit factor.
const MAX_AFFINE: usize = 64;

impl<'m> Formulas<'m> {
    pub(super) fn noise_kinds(&self) -> Vec<Noise> {
        let mut kinds = Vec::new();
        for variable in &self.record.variables {
            let length = variable.shape.len();
            match &variable.law {
                Law::Each(family, _) if family.is_discrete() => {
                    kinds.extend(vec![Noise::Jumping; length])
                }
                Law::Each(..) => kinds.extend(vec![Noise::Smooth; length]),
                Law::Whole(family, _) => kinds.extend(vec![Noise::Smooth; family.noise(length)]),
            }
        }
        kinds
    }

    fn noise_inputs(&self) -> Vec<Node> {
        let mut graph = self.graph.borrow_mut();
        let length = self.noise_kinds().len();
        (0..length).map(|k| graph.input(Input::Noise, k, Fact::ANY)).collect()
    }

    /// The record as a function of the noise.
    pub(super) fn forward(&self) -> Vec<Node> {
        let inputs = self.noise_inputs();
        let noise = self.terms(&inputs);
        let mut noise = noise.into_iter();
        let mut record: Vec<Node> = Vec::new();
        for variable in &self.record.variables {
            let args = self.arguments(&variable.law, &self.columns[..record.len()], &record);
            let entries: Vec<Term> = match &variable.law {
                Law::Each(family, _) => args
                    .iter()
                    .zip(noise.by_ref())
                    .map(|(args, e)| match family.is_discrete() {
                        true => family.quantile(e.normal_cdf(), args),
                        false => family.quantile(e, args),
                    })
                    .collect(),
                Law::Whole(family, _) => {
                    let length = variable.shape.len();
                    let own: Vec<Term> = noise.by_ref().take(family.noise(length)).collect();
                    family.transform(&own, length, &args)
                }
            };
            record.extend(entries.into_iter().map(|entry| entry.node));
        }
        record
    }

    /// The noise of a record.
    pub(super) fn inverse(&self) -> Vec<Node> {
        let source = Source { graph: self.graph, each_record: true };
        let mut noise: Vec<Term> = Vec::new();
        for variable in &self.record.variables {
            let args = self.arguments(&variable.law, &[], &[]);
            let x = self.terms(&variable.nodes);
            match &variable.law {
                Law::Each(family, _) => noise.extend(x.iter().zip(&args).map(|(&x, args)| {
                    if !family.is_discrete() {
                        return family.score(x, args);
                    }
                    let (below, above) = (family.cdf(x - 1.0, args), family.cdf(x, args));
                    (below + (above - below) * source.uniform()).normal_quantile()
                })),
                Law::Whole(family, _) => noise.extend(family.whiten(&x, &args)),
            }
        }
        noise.into_iter().map(|term| term.node).collect()
    }

    fn row_inputs(&self, count: usize) -> Vec<Node> {
        let mut graph = self.graph.borrow_mut();
        (0..count).map(|k| graph.input(Input::BesideRow, k, Fact::ANY)).collect()
    }

    /// The gradients with respect to theta and to the noise, given slopes by record.
    pub(super) fn pull_back(&self, forward: &[Node]) -> (Vec<Node>, Vec<Node>) {
        let noise = self.noise_inputs();
        let slopes = self.row_inputs(forward.len());
        let weighted: Vec<(Node, Node)> = forward.iter().copied().zip(slopes).collect();
        let inputs: Vec<Node> = self.theta.iter().chain(&noise).copied().collect();
        let mut both = self.graph.borrow_mut().pull_back(&weighted, &inputs);
        let noise_gradient = both.split_off(self.theta.len());
        (both, noise_gradient)
    }

    /// The derivative of the record along directions of theta and of the noise.
    pub(super) fn push_forward(&self, forward: &[Node]) -> Vec<Node> {
        let noise = self.noise_inputs();
        let directions = self.row_inputs(noise.len());
        let inputs: Vec<Node> = self.theta.iter().chain(&noise).copied().collect();
        let tangents: Vec<Node> = self.beside.iter().copied().chain(directions).collect();
        self.graph.borrow_mut().push_forward(forward, &inputs, &tangents)
    }

    /// Shift and factor, if the record is an affine function of its noise.
    pub(super) fn affine(&self, forward: &[Node]) -> Option<Vec<Node>> {
        let noise = self.noise_inputs();
        if noise.len() > MAX_AFFINE || self.noise_kinds().contains(&Noise::Jumping) {
            return None;
        }
        let mut graph = self.graph.borrow_mut();
        let zeros = vec![graph.constant(0.0); noise.len()];
        let mut nodes = graph.substitute(forward, &noise, &zeros);
        for &entry in forward {
            nodes.extend(graph.gradient(entry, &noise));
        }
        let same_for_all = |&node: &Node| graph.level(node) < Level::Row;
        nodes.iter().all(same_for_all).then_some(nodes)
    }
}
