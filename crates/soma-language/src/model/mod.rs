//! A model: how a record is drawn given parameters, and the prior of the parameters.

mod constrain;
mod density;
mod describe;
mod transform;

pub(crate) use describe::support_words;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use rand::Rng;

use crate::check::{Binding, Block, Defined, Law, Scope, Variable};
use crate::data::Data;
use crate::error::{Mistakes, Problem};
use crate::graph::{Fact, Graph, Input, Node, Term};
use crate::program::{Inputs, Program, Widths, Workspace};
use crate::syntax;

/// What one coordinate of the noise of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Standard normal.
    Normal,
    /// Uniform on (0, 1): the record's coordinate is discrete.
    Uniform,
}

/// A theta that is none of the model.
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
}

/// A compiled model.
///
/// theta holds the parameters in the order of [`parameters`](Model::parameters); records and noise
/// are row after row. Every method computes in a [`Workspace`], which is reused: after the first
/// call nothing is allocated.
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
    programs: Programs,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Model {
    /// The model that the texts of its parameters and of its record mean.
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
        // Without the names of the parameters the record would be full of unknown names.
        let readable = !first.unreadable;
        let record_defined = if readable {
            scope.block(Block::Record, &mut second, record)
        } else {
            Defined::default()
        };
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
        let (derived, derived_nodes) = formulas.derived();
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
        let forward = formulas.forward();
        let (pull_theta, pull_noise) = formulas.pull_back(&forward);
        let beside = |beside_row: usize| Widths { beside_row, ..widths };
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
            pull_back: Program::new(
                &graph.borrow(),
                &pull_theta,
                &pull_noise,
                beside(record.coordinates),
            ),
            push_forward: {
                let nodes = formulas.push_forward(&forward);
                Program::new(&graph.borrow(), &[], &nodes, beside(noise.len()))
            },
            affine: formulas.affine(&forward).map(|nodes| program(&nodes, &[])),
            forward: program(&[], &forward),
        };
        drop(formulas);
        Model { graph: graph.into_inner(), names, parameters, record, noise, derived, programs }
    }

    /// The names of the parameters, in the order of theta.
    ///
    /// Shares that sum to one have one parameter less, and the Cholesky factor of a correlation
    /// those below its diagonal; the others are [`derived_names`](Model::derived_names).
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

    /// What each coordinate of the noise of a record is.
    pub fn noise(&self) -> &[Noise] {
        &self.noise
    }

    /// An interval for each coordinate of a record, whatever theta, and whether it is whole.
    pub fn record_facts(&self) -> Vec<Fact> {
        let entries =
            self.record.variables.iter().flat_map(|v| v.coordinates.iter().map(|&k| v.nodes[k]));
        entries.map(|node| self.graph.fact(node)).collect()
    }

    /// The names of what the text of the parameters computes from theta.
    pub fn derived_names(&self) -> &[String] {
        &self.derived
    }

    /// The numbers that the text of the parameters computes from theta.
    pub fn derived(&self, theta: &[f64], out: &mut [f64], workspace: &mut Workspace) {
        self.programs.derived.run(at(theta), 0, workspace, out, &mut []);
    }

    /// Whether records can be drawn at `theta`.
    pub fn check_theta(
        &self,
        theta: &[f64],
        workspace: &mut Workspace,
    ) -> Result<(), OutOfSupport> {
        let names = self.parameters();
        let refuse = |k: usize, allowed: String| {
            Err(OutOfSupport { parameter: names[k].clone(), given: theta[k], allowed })
        };
        for (k, value) in theta.iter().enumerate() {
            if !value.is_finite() {
                return refuse(k, "a finite number".into());
            }
        }
        let mut ends = vec![0.0; 2 * theta.len()];
        self.programs.support.run(at(theta), 0, workspace, &mut ends, &mut []);
        for (k, (&value, end)) in theta.iter().zip(ends.chunks_exact(2)).enumerate() {
            // An end that is a finite number has no density worth a parameter: it is left out.
            if !(value > end[0] && value < end[1]) {
                return refuse(k, format!("a number above {} and below {}", end[0], end[1]));
            }
        }
        if self.log_prior(theta, workspace) == f64::NEG_INFINITY {
            return refuse(0, "a theta with a positive prior density".into());
        }
        Ok(())
    }

    /// Draws theta from the prior.
    pub fn sample_prior(&self, theta: &mut [f64], rng: &mut impl Rng, workspace: &mut Workspace) {
        self.programs.sample_prior.run_random(
            Inputs::default(),
            0,
            &mut &mut *rng,
            workspace,
            theta,
            &mut [],
        );
    }

    /// The normalised log prior density at theta; minus infinity outside the support.
    pub fn log_prior(&self, theta: &[f64], workspace: &mut Workspace) -> f64 {
        let mut value = [0.0];
        self.programs.log_prior.run(at(theta), 0, workspace, &mut value, &mut []);
        value[0]
    }

    /// [`log_prior`](Model::log_prior) and its gradient.
    pub fn log_prior_gradient(
        &self,
        theta: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        self.programs.log_prior_gradient.value_and_slopes(at(theta), 0, gradient, workspace)
    }

    /// theta without constraints, of the same length.
    pub fn unconstrain(&self, theta: &[f64], free: &mut [f64], workspace: &mut Workspace) {
        self.programs.unconstrain.run(at(theta), 0, workspace, free, &mut []);
    }

    /// The inverse of [`unconstrain`](Model::unconstrain).
    pub fn constrain(&self, free: &[f64], theta: &mut [f64], workspace: &mut Workspace) {
        let inputs = Inputs { free, ..Inputs::default() };
        self.programs.constrain.run(inputs, 0, workspace, theta, &mut []);
    }

    /// The log prior density of the unconstrained theta: that of theta with the log Jacobian.
    pub fn log_prior_free(&self, free: &[f64], workspace: &mut Workspace) -> f64 {
        let inputs = Inputs { free, ..Inputs::default() };
        let mut value = [0.0];
        self.programs.log_prior_free.run(inputs, 0, workspace, &mut value, &mut []);
        value[0]
    }

    /// [`log_prior_free`](Model::log_prior_free) and its gradient.
    pub fn log_prior_free_gradient(
        &self,
        free: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let inputs = Inputs { free, ..Inputs::default() };
        self.programs.log_prior_free_gradient.value_and_slopes(inputs, 0, gradient, workspace)
    }

    /// Turns a gradient with respect to theta into one with respect to the unconstrained theta.
    pub fn free_gradient(
        &self,
        free: &[f64],
        theta_gradient: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { free, beside: theta_gradient, ..Inputs::default() };
        self.programs.free_gradient.run(inputs, 0, workspace, out, &mut []);
    }

    fn rows(&self, length: usize) -> usize {
        length / self.record.coordinates
    }

    /// Draws as many records as `records` holds.
    pub fn propose(
        &self,
        theta: &[f64],
        records: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let n = self.rows(records.len());
        self.programs.propose.run_random(at(theta), n, &mut &mut *rng, workspace, &mut [], records);
    }

    /// Draws records from the model at theta, except for the coordinates of `before` (drawn at
    /// another theta) whose law is the same at every theta: these are kept.
    pub fn redraw(
        &self,
        theta: &[f64],
        before: &[f64],
        records: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let n = self.rows(records.len());
        let inputs = Inputs { records: before, ..at(theta) };
        self.programs.redraw.run_random(inputs, n, &mut &mut *rng, workspace, &mut [], records);
    }

    /// The normalised log density of each record; minus infinity outside the support.
    pub fn log_densities(
        &self,
        theta: &[f64],
        records: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, ..at(theta) };
        self.programs.log_densities.run(inputs, out.len(), workspace, &mut [], out);
    }

    /// log f(record | to) - log f(record | from) of each record.
    pub fn log_ratios(
        &self,
        from: &[f64],
        to: &[f64],
        records: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, beside: to, ..at(from) };
        self.programs.log_ratios.run(inputs, out.len(), workspace, &mut [], out);
    }

    /// The sum of the log densities of the records, but for variables whose law is the same at
    /// every theta.
    pub fn log_likelihood(&self, theta: &[f64], records: &[f64], workspace: &mut Workspace) -> f64 {
        let mut value = [0.0];
        let inputs = Inputs { records, ..at(theta) };
        self.programs.log_likelihood.run(
            inputs,
            self.rows(records.len()),
            workspace,
            &mut value,
            &mut [],
        );
        value[0]
    }

    /// [`log_likelihood`](Model::log_likelihood) and its gradient with respect to theta.
    pub fn log_likelihood_gradient(
        &self,
        theta: &[f64],
        records: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let inputs = Inputs { records, ..at(theta) };
        let n = self.rows(records.len());
        self.programs.log_likelihood_gradient.value_and_slopes(inputs, n, gradient, workspace)
    }

    /// The records x = T(theta, e) of the noise e.
    pub fn forward(
        &self,
        theta: &[f64],
        noise: &[f64],
        records: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { noise, ..at(theta) };
        self.programs.forward.run(inputs, self.rows(records.len()), workspace, &mut [], records);
    }

    /// The noise e with x = T(theta, e). Where a coordinate is discrete, its uniform is drawn among
    /// those that give it.
    pub fn inverse(
        &self,
        theta: &[f64],
        records: &[f64],
        noise: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, ..at(theta) };
        let n = self.rows(records.len());
        self.programs.inverse.run_random(inputs, n, &mut &mut *rng, workspace, &mut [], noise);
    }

    /// The gradient of a function of the records x = T(theta, e), of which `slopes` holds the
    /// derivative with respect to each coordinate of each record, with respect to theta and to e.
    pub fn pull_back(
        &self,
        theta: &[f64],
        noise: &[f64],
        slopes: &[f64],
        theta_gradient: &mut [f64],
        noise_gradient: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { noise, beside_rows: slopes, ..at(theta) };
        let n = self.rows(slopes.len());
        self.programs.pull_back.run(inputs, n, workspace, theta_gradient, noise_gradient);
    }

    /// The derivative of the records x = T(theta, e) along a direction of theta and of e.
    pub fn push_forward(
        &self,
        theta: &[f64],
        noise: &[f64],
        theta_direction: &[f64],
        noise_direction: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs =
            Inputs { noise, beside: theta_direction, beside_rows: noise_direction, ..at(theta) };
        self.programs.push_forward.run(inputs, self.rows(out.len()), workspace, &mut [], out);
    }

    /// Whether a record is an affine function of its noise, x = shift + factor e.
    pub fn is_affine(&self) -> bool {
        self.programs.affine.is_some()
    }

    /// The shift, and the factor row after row. Returns false, and writes nothing, where the
    /// record is no affine function of its noise.
    pub fn affine(
        &self,
        theta: &[f64],
        shift: &mut [f64],
        factor: &mut [f64],
        workspace: &mut Workspace,
    ) -> bool {
        let Some(program) = &self.programs.affine else { return false };
        let mut both = vec![0.0; shift.len() + factor.len()];
        program.run(at(theta), 0, workspace, &mut both, &mut []);
        let (first, second) = both.split_at(shift.len());
        shift.copy_from_slice(first);
        factor.copy_from_slice(second);
        true
    }

    /// The compiled programs by name, for another backend.
    pub fn programs(&self) -> Vec<(&'static str, &Program)> {
        let p = &self.programs;
        vec![
            ("sample_prior", &p.sample_prior),
            ("log_prior", &p.log_prior),
            ("constrain", &p.constrain),
            ("log_prior_free", &p.log_prior_free),
            ("log_prior_free_gradient", &p.log_prior_free_gradient),
            ("propose", &p.propose),
            ("log_densities", &p.log_densities),
            ("log_ratios", &p.log_ratios),
            ("log_likelihood", &p.log_likelihood),
            ("log_likelihood_gradient", &p.log_likelihood_gradient),
            ("forward", &p.forward),
            ("inverse", &p.inverse),
            ("pull_back", &p.pull_back),
        ]
    }
}

fn at(theta: &[f64]) -> Inputs<'_> {
    Inputs { theta, ..Inputs::default() }
}

fn coordinate_names(defined: &Defined) -> Vec<String> {
    let names =
        |v: &Variable| (0..v.coordinates.len()).map(|k| v.coordinate_name(k)).collect::<Vec<_>>();
    defined.variables.iter().flat_map(names).collect()
}

/// The formulas of a model, as nodes of its graph.
struct Formulas<'m> {
    graph: &'m RefCell<Graph>,
    parameters: &'m Defined,
    record: &'m Defined,
    theta: Vec<Node>,
    free: Vec<Node>,
    beside: Vec<Node>,
    columns: Vec<Node>,
}

impl<'m> Formulas<'m> {
    fn new(graph: &'m RefCell<Graph>, parameters: &'m Defined, record: &'m Defined) -> Self {
        let inputs = |defined: &Defined| -> Vec<Node> {
            defined
                .variables
                .iter()
                .flat_map(|v| v.coordinates.iter().map(|&k| v.nodes[k]))
                .collect()
        };
        let new = |input: Input| -> Vec<Node> {
            let mut graph = graph.borrow_mut();
            (0..parameters.coordinates).map(|k| graph.input(input, k, Fact::ANY)).collect()
        };
        Formulas {
            graph,
            parameters,
            record,
            theta: inputs(parameters),
            free: new(Input::Free),
            beside: new(Input::Beside),
            columns: inputs(record),
        }
    }

    fn term(&self, node: Node) -> Term<'m> {
        Term::new(self.graph, node)
    }

    fn terms(&self, nodes: &[Node]) -> Vec<Term<'m>> {
        nodes.iter().map(|&node| self.term(node)).collect()
    }

    fn constant(&self, value: f64) -> Term<'m> {
        let node = self.graph.borrow_mut().constant(value);
        self.term(node)
    }

    /// The arguments of a law with inputs replaced.
    fn arguments(&self, law: &Law, from: &[Node], to: &[Node]) -> Vec<Vec<Term<'m>>> {
        let (Law::Each(_, args) | Law::Whole(_, args)) = law;
        args.iter()
            .map(|args| self.terms(&self.graph.borrow_mut().substitute(args, from, to)))
            .collect()
    }
}
