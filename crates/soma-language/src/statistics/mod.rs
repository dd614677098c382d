//! Statistics of a record, written as expressions.

mod cases;
mod cells;
mod moments;
mod sensitivity;
mod settled;
mod unbounded;
mod uncounted;

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

pub use moments::{ClampedMoments, MomentTerm};
pub use sensitivity::{Neighbours, Sensitivity, TooTight};

use crate::check::{Scope, Shape, Value};
use crate::data::Data;
use crate::error::{Mistakes, Problem};
use crate::graph::{Fact, Graph, Input, Node, Op};
use crate::model::{Model, support_words};
use crate::program::{Inputs, Program, Widths, Workspace};
use crate::syntax;
use cells::Cells;
pub(crate) use cells::Split;

/// The statistic t(record) of K numbers: expressions of the record, each bounded.
///
/// ```
/// use soma_language::{Data, Model, Neighbours, Statistics};
/// let model = Model::new("m ~ normal(0, 1)", "x ~ normal(m, 1)", &Data::new())?;
/// let statistics = Statistics::new(&["clamp(x, -2, 2)", "x > 0"], &model)?;
/// assert_eq!(statistics.bounds(), [(-2.0, 2.0), (0.0, 1.0)]);
/// assert_eq!(statistics.sensitivity(Neighbours::Replace).l1, 5.0);
/// let mistakes = Statistics::new(&["x"], &model).unwrap_err();
/// assert!(mistakes.to_string().contains("clamp(x, low, high)"));
/// # Ok::<(), soma_language::Mistakes>(())
/// ```
pub struct Statistics {
    labels: Vec<String>,
    facts: Vec<Fact>,
    /// Which coordinates of a record the statistics depend on.
    reads: Vec<bool>,
    /// How they depend on each.
    splits: Vec<Split>,
    /// The values that each has in the model.
    supports: Vec<Fact>,
    values: Program,
    slopes: Program,
    cells: Option<Cells>,
    moments: Option<ClampedMoments>,
    sensitivities: [Sensitivity; 2],
    reason: &'static str,
    is_model_bounded: bool,
    /// The computed names of the record that the statistics are functions of.
    through: Vec<String>,
    /// What is said of single statistics.
    notes: Vec<String>,
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Statistics {
    /// The statistics of `texts`, for records of `model`. An expression that is a vector is as many
    /// statistics.
    ///
    /// Their bounds follow from clamps and from the types of the record (indicators, categories,
    /// counts). If these give none, but the supports of the model do, the statistics are
    /// [model-bounded](Statistics::is_model_bounded).
    pub fn new(texts: &[impl AsRef<str>], model: &Model) -> Result<Self, Mistakes> {
        match Statistics::read(texts, model, model.type_facts(), false) {
            Ok(statistics) => Ok(statistics),
            Err(_) => Statistics::read(texts, model, model.record_facts(), true),
        }
    }

    /// The same with the facts of the coordinates of a record.
    fn read(
        texts: &[impl AsRef<str>],
        model: &Model,
        record: Vec<Fact>,
        is_model_bounded: bool,
    ) -> Result<Self, Mistakes> {
        let mut own = model.graph.clone();
        let inputs: Vec<(Node, Fact)> =
            model.record_nodes().into_iter().zip(record.iter().copied()).collect();
        if !is_model_bounded {
            own.restate(&inputs);
        }
        let graph = RefCell::new(own);
        let mut scope = match Scope::new(&graph, &Data::new()) {
            Ok(scope) => scope,
            Err(problem) => return Err(Mistakes(vec![problem.within("data", "")])),
        };
        scope.names = model.names.clone();
        scope.enter_statistics();
        let (mut labels, mut nodes, mut mistakes) = (Vec::new(), Vec::new(), Vec::new());
        let mut notes = Vec::new();
        for (k, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            match read(&scope, text) {
                Ok((shape, new, own)) => {
                    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    notes.extend(own.into_iter().map(|note| format!("{name}: {note}")));
                    labels.extend((0..new.len()).map(|entry| shape.entry_name(&name, entry)));
                    nodes.extend(new);
                }
                Err(problem) => {
                    mistakes.push(problem.within(&format!("statistic {}", k + 1), text))
                }
            }
        }
        if nodes.is_empty() && mistakes.is_empty() {
            let problem = Problem::new(
                Default::default(),
                "there are no statistics",
                "give at least one expression",
            );
            mistakes.push(problem.within("statistics", ""));
        }
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        drop(scope);
        let graph = graph.into_inner();
        let definitions = model.record.definitions.iter();
        let through = definitions
            .filter(|own| is_function_of(&graph, &nodes, &own.value))
            .map(|own| own.name.clone())
            .collect();
        let statistics = Statistics::compile(graph, labels, nodes, record);
        let supports = model.record_facts();
        Ok(Statistics { is_model_bounded, supports, through, notes, ..statistics })
    }

    fn compile(mut graph: Graph, labels: Vec<String>, nodes: Vec<Node>, record: Vec<Fact>) -> Self {
        let record_dim = record.len();
        let widths = Widths { record: record_dim, ..Widths::default() };
        let facts: Vec<Fact> = nodes.iter().map(|&node| graph.fact(node)).collect();
        let columns: Vec<Node> = (record.into_iter().enumerate())
            .map(|(k, fact)| graph.input(Input::Record, k, fact))
            .collect();
        let values = Program::new(&graph, &[], &nodes, widths);
        let cells = Cells::find(&graph, &nodes, &columns, &values);
        let (sensitivities, reason) = sensitivity::of(&graph, &nodes, &facts, cells.as_ref());
        let weighted: Vec<(Node, Node)> = nodes
            .iter()
            .enumerate()
            .map(|(k, &node)| (node, graph.input(Input::Beside, k, Fact::ANY)))
            .collect();
        let slopes = graph.pull_back(&weighted, &columns);
        let slopes = Program::new(&graph, &[], &slopes, widths);
        let moments = moments::find(&graph, &nodes, record_dim);
        Statistics {
            labels,
            facts,
            reads: cells::read(&graph, &nodes, &columns),
            splits: cells::splits(&graph, &nodes, &columns),
            supports: Vec::new(),
            values,
            slopes,
            cells,
            moments,
            sensitivities,
            reason,
            is_model_bounded: false,
            through: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether the bounds rely on supports that the model assumes of continuous variables, or on
    /// the number of trials of a binomial. Real records may lie outside them: a curator must clamp,
    /// or know that they do not.
    pub fn is_model_bounded(&self) -> bool {
        self.is_model_bounded
    }

    /// K, the number of statistics.
    pub fn dim(&self) -> usize {
        self.facts.len()
    }

    /// D, the length of a record.
    pub fn record_dim(&self) -> usize {
        self.reads.len()
    }

    /// Whether a statistic depends on coordinate `c` of a record.
    pub fn reads(&self, c: usize) -> bool {
        self.reads[c]
    }

    /// The points at which the statistics change, in increasing order, if a record is one continuous
    /// number and they are constant between these; and the support of the number.
    pub fn steps(&self) -> Option<(Vec<f64>, (f64, f64))> {
        let ([split], [support]) = (&self.splits[..], &self.supports[..]) else { return None };
        if support.integer || split.is_free || split.is_capped {
            return None;
        }
        let mut points = split.points.clone();
        points.retain(|&point| point > support.low && point < support.high);
        points.sort_by(f64::total_cmp);
        Some((points, (support.low, support.high)))
    }

    /// How the statistics depend on each coordinate of a record.
    pub(crate) fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The computed names of the record that the statistics are functions of.
    pub(crate) fn through(&self) -> &[String] {
        &self.through
    }

    /// The text of each statistic.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The smallest and largest value of each statistic.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        self.facts.iter().map(|fact| (fact.low, fact.high)).collect()
    }

    /// Whether all statistics are integers.
    pub fn is_integer(&self) -> bool {
        self.facts.iter().all(|fact| fact.integer)
    }

    /// The statistics of the records, row by row.
    pub fn evaluate(&self, records: &[f64], out: &mut [f64], workspace: &mut Workspace) {
        let inputs = Inputs { records, ..Inputs::default() };
        self.values.run(inputs, out.len() / self.dim(), workspace, &mut [], out);
    }

    /// The derivative of the sum of `weights`\[k\] t_k with respect to each coordinate of each
    /// record, row by row. At a jump or a kink it is one-sided.
    pub fn slopes(
        &self,
        records: &[f64],
        weights: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, beside: weights, ..Inputs::default() };
        self.slopes.run(inputs, out.len() / self.record_dim(), workspace, &mut [], out);
    }

    /// The largest change of the sum of the statistics between neighbouring data sets.
    pub fn sensitivity(&self, neighbours: Neighbours) -> Sensitivity {
        self.sensitivities[neighbours as usize]
    }

    /// Rejects a stated sensitivity below the proven bound; a larger one is allowed.
    pub fn check_sensitivity(
        &self,
        neighbours: Neighbours,
        stated: Sensitivity,
    ) -> Result<(), TooTight> {
        sensitivity::check(stated, self.sensitivity(neighbours), self.reason)
    }

    /// The distinct values of the statistic, if they are few.
    pub fn values(&self) -> Option<&[Vec<f64>]> {
        self.cells.as_ref().map(|cells| cells.values.as_slice())
    }

    /// K, if the statistics are the indicators of K bins: at most one of them is 1.
    pub fn bins(&self) -> Option<usize> {
        self.cells.as_ref().filter(|cells| cells.one_hot).map(|_| self.dim())
    }

    /// The bin of each row of evaluated statistics, or K if none is 1.
    pub fn bins_of(&self, statistics: &[f64], out: &mut [u32]) {
        let k = self.dim();
        for (to, row) in out.iter_mut().zip(statistics.chunks_exact(k)) {
            *to = row.iter().position(|&value| value != 0.0).unwrap_or(k) as u32;
        }
    }

    /// The statistics as moments of clamped coordinates, if they are.
    pub fn clamped_moments(&self) -> Option<&ClampedMoments> {
        self.moments.as_ref()
    }

    /// The compiled program of the statistics, for another backend.
    pub fn program(&self) -> &Program {
        &self.values
    }

    /// A description of the statistics: bounds and sensitivities.
    pub fn describe(&self) -> String {
        let mut text = format!("statistics ({}):\n", self.dim());
        for (label, fact) in self.labels.iter().zip(&self.facts) {
            text += &format!("  {label}    ({})\n", support_words(*fact));
        }
        for note in &self.notes {
            text += &format!("  {note}\n");
        }
        if let Some(cells) = &self.cells {
            text += &format!("  takes {} different values\n", cells.values.len());
        }
        for (name, neighbours) in
            [("replaced", Neighbours::Replace), ("added or removed", Neighbours::AddRemove)]
        {
            let Sensitivity { l1, l2 } = self.sensitivity(neighbours);
            let (l1, l2) = (short(l1), short(l2));
            text +=
                &format!("  sensitivity, one record {name}: l1 {l1}, l2 {l2} ({})\n", self.reason);
        }
        if self.is_model_bounded {
            text += "  model-bounded: the bounds rest on supports that the model assumes; to \
                     protect records that may lie outside, clamp them\n";
        }
        text
    }
}

/// Six significant digits, without zeros at the end.
fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// Whether `nodes` depend on a record by way of `value`, a single number, only.
fn is_function_of(graph: &Graph, nodes: &[Node], value: &Value) -> bool {
    let &[through] = &value.nodes[..] else { return false };
    let (mut stack, mut seen) = (nodes.to_vec(), HashSet::new());
    while let Some(node) = stack.pop() {
        if node == through || !seen.insert(node) {
            continue;
        }
        let entry = graph.entry(node);
        if matches!(entry.op, Op::Input(..)) {
            return false;
        }
        stack.extend(entry.args());
    }
    true
}

/// The shape and nodes of one statistic, and what is to be said of it.
fn read(scope: &Scope<'_>, text: &str) -> Result<(Shape, Vec<Node>, Vec<String>), Problem> {
    let expression = syntax::expression(text)?;
    let value = scope.statistic(&expression)?;
    let notes = uncounted::notes(scope, &expression);
    let graph = scope.graph.borrow();
    for &node in &value.nodes {
        if graph.constant_value(node).is_some() {
            return Err(Problem::new(
                expression.span,
                "the statistic is the same for every record",
                "use at least one name of the record",
            ));
        }
        if !graph.fact(node).is_bounded() {
            return Err(unbounded::problem(&graph, node, expression.span, &scope.names));
        }
    }
    Ok((value.shape, value.nodes, notes))
}
