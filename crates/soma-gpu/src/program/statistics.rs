//! The text of a query and its potential.
//!
//! The kernel works with variables v of a record, of which the statistics are products, and with residuals in
//! units in which the cost in bits is |r| (L1) or r^2 (L2). Statistics that are offset + factor u_i u_j of clamped
//! coordinates u have v_j = g_j u_j, where g_j is chosen so that most factors, in units of the noise, are 1. Other
//! statistics are their own variables: v_k is statistic k less the middle of its range, in units of the noise.

use std::f64::consts::LOG2_E;
use std::fmt::Write;

use soma::Invalid;
use soma::release::Release;
use soma::release::potential::Coordinate;
use soma::release::query::{ClampedMoments, MomentTerm, Query};
use soma_language::program::Program;

use super::model::number;
use super::stored::Stored;
use super::{text_model, unfit};

/// One statistic in the units of the kernel.
#[derive(Debug, Clone)]
struct Term {
    label: String,
    variables: [usize; 2],
    /// Coefficient of v_i v_j, in units of the noise.
    coefficient: f64,
    cost: Cost,
    /// Converts a residual from the unit of the sums to that of the noise.
    per_unit: f64,
    offset: f64,
}

/// The cost of a residual r.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// |r|.
    L1,
    /// r^2.
    L2,
    /// That of -r records, where their number is unknown.
    Size,
}

/// The variables of a record.
#[derive(Debug, Clone)]
enum Variables {
    /// Its clamped coordinates.
    Clamped(ClampedMoments),
    /// Its statistics, by their programs.
    Own(Vec<Program>),
    /// The statistics of a slot, part by part, and 1: all are 0 if it is empty.
    Held(Vec<Source>),
}

/// The statistics of a part.
#[derive(Debug, Clone)]
enum Source {
    Programs(Vec<Program>),
    Moments(ClampedMoments),
    /// That of every record.
    Constant(f64),
}

impl Source {
    fn of(query: &dyn Query) -> Option<Self> {
        let constant = || match query.bounds()[..] {
            [(low, high)] if low == high => Some(Source::Constant(low)),
            _ => None,
        };
        let moments = || query.clamped_moments().map(Source::Moments);
        query.programs().map(Source::Programs).or_else(moments).or_else(constant)
    }

    fn len(&self) -> usize {
        match self {
            Source::Programs(programs) => programs.iter().map(|p| p.row_outputs.len()).sum(),
            Source::Moments(moments) => moments.terms.len(),
            Source::Constant(_) => 1,
        }
    }

    /// Sets the variables from place `first` on, which are the statistics times `factors`.
    fn text(&self, first: usize, factors: &[f64]) -> Result<String, Invalid> {
        match self {
            Source::Programs(programs) => {
                text_model::statistics(programs, first, &vec![0.0; factors.len()], factors)
            }
            Source::Moments(moments) => Ok(products(moments, first, factors)),
            Source::Constant(value) => {
                Ok(format!("  v[{first}] = {}f;\n", single(value * factors[0])))
            }
        }
    }
}

/// The statistics offset + factor u_i u_j of clamped coordinates, times `factors`.
fn products(moments: &ClampedMoments, first: usize, factors: &[f64]) -> String {
    let mut text = String::from("  {\n");
    for (j, half_width) in moments.half_width.iter().enumerate() {
        let _ = writeln!(
            text,
            "    float u{j} = fminf(fmaxf((record[{j}] - {}f) * {}f, -1.0f), 1.0f);",
            single(moments.centre[j]),
            single(1.0 / half_width),
        );
    }
    let d = moments.half_width.len();
    for (k, (term, scale)) in moments.terms.iter().zip(factors).enumerate() {
        let [i, j] = term.variables;
        let factors = if j == d { format!("u{i}") } else { format!("u{i} * u{j}") };
        let (factor, offset) = (single(term.factor * scale), single(term.offset * scale));
        let _ = writeln!(text, "    v[{}] = {offset}f + {factor}f * {factors};", first + k);
    }
    text + "  }\n"
}

/// The statistics of a release.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    variables: Variables,
    /// The scales g of the variables.
    scale: Vec<f64>,
    terms: Vec<Term>,
    n: usize,
}

impl Statistics {
    /// The statistics of a release. The error says which are not supported.
    pub(super) fn of(release: &Release) -> Result<Self, Invalid> {
        let query = release.query();
        let unknown = |query: &dyn Query| {
            let allowed = "mean, gram, moments, log-sum, categories, histogram, or statistics written as text";
            unfit("release.query", query.kind(), allowed)
        };
        let is_held = release.slotted().is_some();
        let has_joint = release.published_parts().iter().any(|part| part.mechanism().is_none());
        let variables = match (query.clamped_moments(), query.programs()) {
            _ if is_held && has_joint => {
                let allowed =
                    "sums with Laplace or Gaussian noise, discrete or not, as it is; or n public";
                return Err(unfit(
                    "release.mechanism",
                    "a mean or another law, with n unknown",
                    allowed,
                ));
            }
            _ if is_held => {
                let queries = release.published_parts().iter().map(|part| part.query().as_ref());
                let source = |query| Source::of(query).ok_or_else(|| unknown(query));
                Variables::Held(queries.map(source).collect::<Result<_, _>>()?)
            }
            (Some(moments), _) => Variables::Clamped(moments),
            (None, Some(programs)) => Variables::Own(programs),
            (None, None) => return Err(unknown(query.as_ref())),
        };
        if query.dim() > 64 {
            return Err(unfit("release.query", query.dim(), "up to 64 statistics"));
        }
        let scales = release.sum_scales();
        let (k, bounds) = (query.dim(), query.bounds());
        let own = |at: usize| {
            let (low, high) = bounds[at];
            let middle = if is_held { 0.0 } else { 0.5 * low + 0.5 * high };
            MomentTerm { variables: [at, k], offset: middle, factor: 1.0 }
        };
        let mut terms = Vec::new();
        for (k, label) in query.labels().into_iter().enumerate() {
            let (unit, cost) = match release.potential().coordinate(k) {
                Some(Coordinate::L1) => (LOG2_E, Cost::L1),
                Some(Coordinate::L2) => ((0.5 * LOG2_E).sqrt(), Cost::L2),
                Some(_) if is_held && k + 1 == query.dim() => (1.0, Cost::Size),
                _ => {
                    let allowed = "Laplace or Gaussian noise, discrete or not, as it is";
                    return Err(unfit("release.mechanism", label, allowed));
                }
            };
            let term = match &variables {
                Variables::Clamped(moments) => moments.terms[k],
                Variables::Own(_) | Variables::Held(_) => own(k),
            };
            let per_unit = unit / scales[k];
            terms.push(Term {
                label,
                variables: term.variables,
                coefficient: term.factor * per_unit,
                cost,
                per_unit,
                offset: term.offset,
            });
        }
        let scale = match &variables {
            Variables::Clamped(moments) => scale_of(moments.centre.len(), &terms),
            Variables::Own(_) | Variables::Held(_) => {
                terms.iter().map(|term| term.per_unit).collect()
            }
        };
        for term in &mut terms {
            let of = |j: usize| scale.get(j).copied().unwrap_or(1.0);
            let [i, j] = term.variables;
            term.coefficient /= of(i) * of(j);
        }
        Ok(Statistics { variables, scale, terms, n: release.n() })
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Numbers of a record that its statistics are computed from.
    pub(super) fn variables(&self) -> usize {
        self.scale.len()
    }

    /// Whether statistics are computed by programs of the language of models.
    pub(super) fn has_programs(&self) -> bool {
        matches!(self.variables, Variables::Own(_) | Variables::Held(_))
    }

    /// The published sums less all offsets, in units of the noise.
    pub(super) fn published(&self, release: &Release) -> Vec<f64> {
        let sums = release.sums();
        let each = self.terms.iter().zip(sums);
        each.map(|(term, sum)| (sum - self.n as f64 * term.offset) * term.per_unit).collect()
    }

    /// For statistics that are counts: what is added to the published values, the unit of a count, and whether the
    /// cost is the residual's size (1) or its square (0).
    pub(super) fn cells(&self) -> [Vec<f64>; 3] {
        let of = |value: fn(&Term, f64) -> f64| {
            self.terms.iter().map(|term| value(term, self.n as f64)).collect()
        };
        [
            of(|term, n| n * term.offset * term.per_unit),
            of(|term, _| term.per_unit),
            of(|term, _| f64::from(u8::from(term.cost == Cost::L1))),
        ]
    }

    /// The functions of the query and the potential, of records that are `stored` so.
    pub(super) fn text(&self, stored: Stored) -> Result<String, Invalid> {
        let mut text = String::from("// ---- Query and potential.\n\n");
        text += "// The variables of a record, in units in which their products are statistics.\n";
        text += "__device__ __forceinline__ void to_variables(const float* ";
        let is_held = matches!(self.variables, Variables::Held(_));
        let held = if is_held { "(stored + 1)" } else { "stored" };
        let empty = |slot: &str| match is_held {
            true => format!(
                "  if (!is_held({slot})) {{\n    for (int k = 0; k < VARIABLES; k++) v[k] = 0.0f;\n    return;\n  }}\n"
            ),
            false => String::new(),
        };
        text += &match stored.function() {
            Some(shown) => format!(
                "stored, float* v) {{\n{}  float record[COORDINATES];\n  \
                 for (int j = 0; j < COORDINATES; j++) record[j] = {shown}({held}[j]);\n",
                empty("stored"),
            ),
            None if is_held => {
                format!("slot, float* v) {{\n{}  const float* record = slot + 1;\n", empty("slot"))
            }
            None => "record, float* v) {\n".into(),
        };
        match &self.variables {
            Variables::Clamped(moments) => text += &self.clamped(moments),
            Variables::Own(programs) => {
                let offsets: Vec<f64> = self.terms.iter().map(|term| term.offset).collect();
                text += &text_model::statistics(programs, 0, &offsets, &self.scale)?;
            }
            Variables::Held(sources) => {
                let mut first = 0;
                for source in sources {
                    let next = first + source.len();
                    text += &source.text(first, &self.scale[first..next])?;
                    first = next;
                }
                let _ = writeln!(text, "  v[{first}] = 1.0f;");
            }
        }
        text += "}\n\n// The statistics, in units of the noise.\n";
        text += "__device__ __forceinline__ void to_statistic(const float* v, float* t) {\n";
        for (k, term) in self.terms.iter().enumerate() {
            let _ = writeln!(text, "  t[{k}] = {};  // {}", self.product(term), term.label);
        }
        text += "}\n\n// Whether a statistic looks at what a change of theta carries.\n";
        text += "__device__ __forceinline__ constexpr bool is_carried(int k) {\n";
        let d = self.scale.len();
        let last = |term: &Term| term.variables.into_iter().filter(|&j| j < d).max().unwrap_or(0);
        let last: Vec<String> = match self.variables {
            Variables::Clamped(_) => self.terms.iter().map(|term| last(term).to_string()).collect(),
            // A program may look at any coordinate.
            _ => vec!["DIM".into(); self.terms.len()],
        };
        let _ = writeln!(text, "  constexpr int last[] = {{{}}};", last.join(", "));
        text += "  return last[k] >= FIRST_CARRIED;\n";
        text += "}\n\n// The cost of the residual apart + t(v), in bits.\n";
        text +=
            "__device__ __forceinline__ float cost_after(const float* apart, const float* v) {\n";
        text += "  float r, cost;\n";
        for (k, term) in self.terms.iter().enumerate() {
            let add = match (k, term.cost) {
                (0, Cost::L1) => "cost = fabsf(r);",
                (0, _) => "cost = r * r;",
                (_, Cost::L1) => "cost += fabsf(r);",
                (_, Cost::L2) => "cost = fmaf(r, r, cost);",
                (_, Cost::Size) => "cost += size_cost(r);",
            };
            let _ = writeln!(text, "  r = {}; {add}", self.added(term, k));
        }
        text += "  return cost;\n}\n\n// The residual apart + t(v).\n";
        text += "__device__ __forceinline__ void add_statistic(const float* apart, const float* v, float* r) {\n";
        for (k, term) in self.terms.iter().enumerate() {
            let _ = writeln!(text, "  r[{k}] = {};", self.added(term, k));
        }
        text += "}\n\n// The residual after a record with variables v was replaced by one with variables w.\n";
        text += "__device__ __forceinline__ void replace_statistic(\n    \
                 const float* before, const float* v, const float* w, float* r) {\n";
        for (k, term) in self.terms.iter().enumerate() {
            let _ = writeln!(text, "  r[{k}] = {};", self.replaced(term, k));
        }
        text += "}\n\n// The cost of a residual, in bits.\n";
        text += "__device__ __forceinline__ float cost_of(const float* r) {\n";
        // Two independent sums halve the latency.
        let sum = |odd: usize| {
            let each = self.terms.iter().enumerate().skip(odd).step_by(2);
            let each = each.map(|(k, term)| match term.cost {
                Cost::L1 => format!("fabsf(r[{k}])"),
                Cost::L2 => format!("r[{k}] * r[{k}]"),
                Cost::Size => format!("size_cost(r[{k}])"),
            });
            each.collect::<Vec<String>>().join(" + ")
        };
        let _ = match self.terms.len() {
            1 => writeln!(text, "  return {};", sum(0)),
            _ => writeln!(text, "  return ({})\n    + ({});", sum(0), sum(1)),
        };
        text += "}\n";
        Ok(text)
    }

    fn clamped(&self, moments: &ClampedMoments) -> String {
        let mut text = String::new();
        for (j, g) in self.scale.iter().enumerate() {
            let slope = g / moments.half_width[j];
            let _ = writeln!(
                text,
                "  v[{j}] = fminf(fmaxf(fmaf(record[{j}], {}f, {}f), {}f), {}f);",
                single(slope),
                single(-moments.centre[j] * slope),
                single(-g),
                single(*g),
            );
        }
        text
    }

    fn product(&self, term: &Term) -> String {
        let [i, j] = term.variables;
        let d = self.scale.len();
        let factors = if j == d { format!("v[{i}]") } else { format!("v[{i}] * v[{j}]") };
        match single(term.coefficient).as_str() {
            "1.0" => factors,
            coefficient => format!("{coefficient}f * {factors}"),
        }
    }

    fn added(&self, term: &Term, k: usize) -> String {
        let [i, j] = term.variables;
        let d = self.scale.len();
        match (single(term.coefficient).as_str(), j == d) {
            ("1.0", true) => format!("apart[{k}] + v[{i}]"),
            ("1.0", false) => format!("fmaf(v[{i}], v[{j}], apart[{k}])"),
            (c, true) => format!("fmaf({c}f, v[{i}], apart[{k}])"),
            (c, false) => format!("fmaf({c}f * v[{i}], v[{j}], apart[{k}])"),
        }
    }

    fn replaced(&self, term: &Term, k: usize) -> String {
        let [i, j] = term.variables;
        let d = self.scale.len();
        match (single(term.coefficient).as_str(), j == d) {
            ("1.0", true) => format!("before[{k}] + (v[{i}] - w[{i}])"),
            ("1.0", false) => format!("fmaf(-w[{i}], w[{j}], fmaf(v[{i}], v[{j}], before[{k}]))"),
            (c, true) => format!("fmaf({c}f, v[{i}] - w[{i}], before[{k}])"),
            (c, false) => {
                format!("fmaf({c}f * v[{i}], v[{j}], fmaf(-{c}f * w[{i}], w[{j}], before[{k}]))")
            }
        }
    }
}

/// The scales g: from the coefficient of the variable's square, or of the variable if it has no square.
fn scale_of(d: usize, terms: &[Term]) -> Vec<f64> {
    let find = |j: usize, with: usize| {
        terms.iter().find(|term| term.variables == [j, with]).map(|term| term.coefficient.abs())
    };
    let usable = |g: &f64| g.is_normal();
    let of = |j| find(j, j).map(f64::sqrt).or(find(j, d)).filter(usable).unwrap_or(1.0);
    (0..d).map(of).collect()
}

/// A number as a single precision constant, without its suffix.
fn single(value: f64) -> String {
    number(f64::from(value as f32)).replace("inf", "3e38")
}
