//! A model: the distribution of a record given parameters, and the prior of the parameters.

mod constrain;
mod density;
mod describe;
mod evaluate;
mod formulas;
mod posterior;
mod sufficient;
mod transform;
mod values;

pub(crate) use describe::support_words;
pub use posterior::Nanoseconds;
pub use sufficient::Given;
pub use values::Values;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use crate::check::{Binding, Block, Defined, Law, Scope, Variable};
use crate::data::Data;
use crate::error::{Mistakes, Problem};
use crate::graph::{Fact, Graph, Node};
use crate::program::{Program, Widths};
use crate::syntax;
use formulas::Formulas;
use sufficient::Sufficient;

/// How a record depends on one coordinate of its standard normal noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Smooth and one-to-one.
    Smooth,
    /// With jumps: the record's coordinate is discrete, the quantile of Phi(e).
    Jumping,
}

/// A theta outside the support.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfSupport {
    /// The parameter.
    pub parameter: String,
    /// Its value.
    pub given: f64,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for OutOfSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, allowed: {}", self.parameter, self.given, self.allowed)
    }
}

impl std::error::Error for OutOfSupport {}

/// The programs of a model.
struct Programs {
    sample_prior: Program,
    log_prior: Program,
    log_prior_gradient: Program,
    support: Program,
    unconstrain: Program,
    constrain: Program,
    log_prior_free: Program,
    log_prior_free_gradient: Program,
    free_gradient: Program,
    derived: Program,
    propose: Program,
    redraw: Program,
    log_densities: Program,
    log_ratios: Program,
    log_likelihood: Program,
    log_likelihood_gradient: Program,
    forward: Program,
    inverse: Program,
    pull_back: Program,
    push_forward: Program,
    affine: Option<Program>,
    density_free: Program,
    posterior: Option<Program>,
    sufficient: Option<Sufficient>,
}

/// A compiled model.
///
/// theta holds the parameters in the order of [`parameters`](Model::parameters); records and noise
/// are row by row. Every method computes in a [`Workspace`](crate::Workspace), which is reused:
/// after the first call nothing is allocated.
///
/// ```
/// use soma_language::{Data, Model, Workspace};
/// let model = Model::new(
///     "m ~ normal(0, 10)\ns ~ half_normal(5)",
///     "x ~ normal(m, s)",
///     &Data::new(),
/// )?;
/// let mut workspace = Workspace::new();
/// let mut gradient = [0.0; 2];
/// let value = model.log_likelihood_gradient(&[0.0, 1.0], &[0.5, -0.5], &mut gradient, &mut workspace);
/// assert!((value + 2.0879).abs() < 1e-4);
/// assert_eq!(gradient, [0.0, -1.5]);
/// # Ok::<(), soma_language::Mistakes>(())
/// ```
pub struct Model {
    pub(crate) graph: Graph,
    pub(crate) names: BTreeMap<String, Binding>,
    pub(crate) parameters: Defined,
    pub(crate) record: Defined,
    noise: Vec<Noise>,
    derived: Vec<String>,
    derived_quantities: Vec<(String, usize)>,
    derived_facts: Vec<Fact>,
    programs: Programs,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Model {
    /// Compiles the texts of the parameters and of the record.
    pub fn new(parameters: &str, record: &str, data: &Data) -> Result<Self, Mistakes> {
        let graph = RefCell::new(Graph::default());
        let placed = |block: &str, text: &str, problems: Vec<Problem>| {
            let mut mistakes: Vec<_> =
                problems.into_iter().map(|p| p.within(block, text)).collect();
            mistakes.sort_by_key(|mistake| mistake.line);
            mistakes
        };
        let (mut first, mut second) = (syntax::lines(parameters), syntax::lines(record));
        let mut scope = match Scope::new(&graph, data) {
            Ok(scope) => scope,
            Err(problem) => return Err(Mistakes(vec![problem.within("data", "")])),
        };
        scope.announce_record(&second.statements);
        let parameters_defined = scope.block(Block::Parameters, &mut first, parameters);
        let well = first.problems.is_empty();
        let record_defined = scope.block(Block::Record, &mut second, record);
        if record_defined.variables.is_empty() && second.problems.is_empty() && well {
            let help = "draw at least one name, as in `x ~ normal(m, s)`";
            second.problems.push(Problem::new(
                Default::default(),
                "the record has no variables",
                help,
            ));
        }
        let mut mistakes = placed("parameters", parameters, first.problems);
        mistakes.extend(placed("record", record, second.problems));
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        let names = scope.names;
        Ok(Model::compile(graph, names, parameters_defined, record_defined))
    }

    fn compile(
        graph: RefCell<Graph>,
        names: BTreeMap<String, Binding>,
        parameters: Defined,
        record: Defined,
    ) -> Self {
        let formulas = Formulas::new(&graph, &parameters, &record);
        let noise = formulas.noise_kinds();
        let widths = Widths { record: record.coordinates, noise: noise.len(), beside_row: 0 };
        let quantities = formulas.derived();
        let counted = |(name, all): &(String, Vec<(String, Node)>)| (name.clone(), all.len());
        let derived_quantities = quantities.iter().map(counted).collect();
        let (derived, derived_nodes): (Vec<String>, Vec<Node>) =
            quantities.into_iter().flat_map(|(_, all)| all).unzip();
        let derived_facts = derived_nodes.iter().map(|&node| graph.borrow().fact(node)).collect();
        let program =
            |outputs: &[Node], rows: &[Node]| Program::new(&graph.borrow(), outputs, rows, widths);
        let theta_gradient = |node: Node| {
            let mut nodes = vec![node];
            nodes.extend(graph.borrow_mut().gradient(node, &formulas.theta));
            nodes
        };
        let log_prior = formulas.log_prior();
        let (constrained, log_jacobian) = formulas.constrained();
        let log_prior_free = formulas.log_prior_free(log_prior, &constrained, log_jacobian);
        let mut free_slopes = vec![log_prior_free];
        free_slopes.extend(graph.borrow_mut().gradient(log_prior_free, &formulas.free));
        let weighted: Vec<(Node, Node)> =
            constrained.iter().copied().zip(formulas.beside.iter().copied()).collect();
        let free_gradient = graph.borrow_mut().pull_back(&weighted, &formulas.free);
        let likelihood = formulas.log_likelihood();
        let sum = graph.borrow_mut().sum(likelihood);
        let density_free = formulas.density_free(log_prior_free, sum, &constrained);
        let posterior = formulas.posterior_free(density_free);
        let forward = formulas.forward();
        let (pull_theta, pull_noise) = formulas.pull_back(&forward);
        let beside = |outputs: &[Node], rows: &[Node], beside_row: usize| {
            Program::new(&graph.borrow(), outputs, rows, Widths { beside_row, ..widths })
        };
        let programs = Programs {
            sample_prior: program(&formulas.sample_prior(), &[]),
            log_prior: program(&[log_prior], &[]),
            log_prior_gradient: program(&theta_gradient(log_prior), &[]),
            support: program(&formulas.support_ends(), &[]),
            unconstrain: program(&formulas.unconstrained(), &[]),
            constrain: program(&constrained, &[]),
            log_prior_free: program(&[log_prior_free], &[]),
            log_prior_free_gradient: program(&free_slopes, &[]),
            free_gradient: program(&free_gradient, &[]),
            derived: program(&derived_nodes, &[]),
            propose: program(&[], &formulas.propose(false)),
            redraw: program(&[], &formulas.propose(true)),
            log_densities: program(&[], &[formulas.log_density()]),
            log_ratios: program(&[], &[formulas.log_ratio()]),
            log_likelihood: program(&[sum], &[]),
            log_likelihood_gradient: program(&theta_gradient(sum), &[]),
            inverse: program(&[], &formulas.inverse()),
            pull_back: beside(&pull_theta, &pull_noise, record.coordinates),
            push_forward: beside(&[], &formulas.push_forward(&forward), noise.len()),
            affine: formulas.affine(&forward).map(|nodes| program(&nodes, &[])),
            forward: program(&[], &forward),
            density_free: program(&[density_free], &[]),
            posterior: posterior.map(|nodes| program(&nodes, &[])),
            sufficient: formulas.sufficient(likelihood, log_prior_free, &constrained, widths),
        };
        drop(formulas);
        Model {
            graph: graph.into_inner(),
            names,
            parameters,
            record,
            noise,
            derived,
            derived_quantities,
            derived_facts,
            programs,
        }
    }

    /// The names of the parameters, in the order of theta.
    ///
    /// Shares that sum to one have one parameter fewer, and the Cholesky factor of a correlation
    /// matrix only those below its diagonal; the others are
    /// [`derived_names`](Model::derived_names).
    pub fn parameters(&self) -> Vec<String> {
        coordinate_names(&self.parameters)
    }

    /// The names of the coordinates of a record.
    pub fn record_names(&self) -> Vec<String> {
        coordinate_names(&self.record)
    }

    /// The length of theta.
    pub fn theta_dim(&self) -> usize {
        self.parameters.coordinates
    }

    /// D, the length of a record.
    pub fn record_dim(&self) -> usize {
        self.record.coordinates
    }

    /// How a record depends on each coordinate of its noise.
    pub fn noise(&self) -> &[Noise] {
        &self.noise
    }

    /// An interval for each coordinate of a record, valid for all theta, and whether it is an
    /// integer.
    pub fn record_facts(&self) -> Vec<Fact> {
        let entries =
            self.record.variables.iter().flat_map(|v| v.coordinates.iter().map(|&k| v.nodes[k]));
        entries.map(|node| self.graph.fact(node)).collect()
    }

    /// The facts that follow from the type of each coordinate of a record, without the model: the
    /// values of an indicator or a category, a non-negative integer for a count, and any number
    /// otherwise.
    pub(crate) fn type_facts(&self) -> Vec<Fact> {
        let of = |variable: &Variable, fact: Fact| match &variable.law {
            Law::Each(family, _) if family.is_bounded_by_type() => fact,
            Law::Each(family, _) if family.is_discrete() => {
                Fact { low: 0.0, high: f64::INFINITY, integer: true }
            }
            _ => Fact::ANY,
        };
        let variables = self.record.variables.iter();
        let coordinates = variables.flat_map(|v| v.coordinates.iter().map(move |_| v));
        coordinates.zip(self.record_facts()).map(|(v, fact)| of(v, fact)).collect()
    }

    /// The nodes of the coordinates of a record.
    pub(crate) fn record_nodes(&self) -> Vec<Node> {
        let variables = self.record.variables.iter();
        variables.flat_map(|v| v.coordinates.iter().map(|&k| v.nodes[k])).collect()
    }

    /// The names of the numbers computed from theta: the remaining entries of shares and of factors,
    /// and what `=` defines. Numbers that do not depend on theta are not among them, nor is the second
    /// of two equal entries of a symmetric matrix.
    pub fn derived_names(&self) -> &[String] {
        &self.derived
    }

    /// The names in the text that these numbers are of, in the same order, and how many each has.
    pub fn derived_quantities(&self) -> &[(String, usize)] {
        &self.derived_quantities
    }

    /// An interval for each of them, valid for all theta, and whether it is an integer: a comparison
    /// is an indicator.
    pub fn derived_facts(&self) -> &[Fact] {
        &self.derived_facts
    }
}

fn coordinate_names(defined: &Defined) -> Vec<String> {
    let names =
        |v: &Variable| (0..v.coordinates.len()).map(|k| v.coordinate_name(k)).collect::<Vec<_>>();
    defined.variables.iter().flat_map(names).collect()
}
