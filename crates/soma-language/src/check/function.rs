//! The functions of the language.

use super::value::{Shape, Value};
use crate::error::{Problem, Span};
use crate::graph::{Binary, Graph, Node, Unary};

/// A function by its name in a text.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as written in the manual.
    pub arguments: &'static str,
    /// The smallest and largest number of arguments.
    arity: (usize, usize),
    /// Its description.
    pub meaning: &'static str,
    build: Build,
}

type Build = fn(&mut Graph, &[Argument]) -> Result<Value, Problem>;

/// An argument with its position in the text.
pub(crate) struct Argument {
    pub value: Value,
    pub span: Span,
}

macro_rules! functions {
    ($($name:literal ($arguments:literal) $low:literal..$high:literal $meaning:literal => $build:expr;)*) => {
        /// Every function.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: $name, arguments: $arguments, arity: ($low, $high), meaning: $meaning, build: $build,
        }),*];
    };
}

functions! {
    "abs" ("a") 1..1 "absolute value" => |g, v| each(g, v, |g, a| g.unary(Unary::Abs, a[0]));
    "ceil" ("a") 1..1 "smallest whole number from a up" => |g, v| each(g, v, |g, a| { let n = g.neg(a[0]); let f = g.unary(Unary::Floor, n); g.neg(f) });
    "cholesky" ("matrix") 1..1 "lower triangular factor L of a given matrix, L L' = matrix" => cholesky;
    "clamp" ("a, low, high") 3..3 "a, but at least low and at most high" => clamp;
    "correlation" ("L") 1..1 "correlation matrix of a covariance L L', from its factor" => correlation;
    "cos" ("a") 1..1 "cosine" => |g, v| each(g, v, |g, a| g.unary(Unary::Cos, a[0]));
    "dot" ("v, w") 2..2 "sum of the products of the entries of two vectors" => dot;
    "exp" ("a") 1..1 "e to the power of a" => |g, v| each(g, v, |g, a| g.exp(a[0]));
    "expm1" ("a") 1..1 "exp(a) - 1, exact for small a" => |g, v| each(g, v, |g, a| g.unary(Unary::Expm1, a[0]));
    "floor" ("a") 1..1 "largest whole number up to a" => |g, v| each(g, v, |g, a| g.unary(Unary::Floor, a[0]));
    "histogram" ("a, edges") 2..2 "indicators of the bins [edge, next edge), the last one closed; a below or above all edges is in none, and -inf and inf are edges too" => histogram;
    "length" ("v") 1..1 "number of entries" => |g, v| { let n = g.constant(v[0].value.nodes.len() as f64); Ok(Value::scalar(n)) };
    "lgamma" ("a") 1..1 "logarithm of the gamma function" => |g, v| each(g, v, |g, a| g.log_gamma(a[0]));
    "log" ("a") 1..1 "natural logarithm" => |g, v| each(g, v, |g, a| g.log(a[0]));
    "log1p" ("a") 1..1 "log(1 + a), exact for small a" => |g, v| each(g, v, |g, a| g.unary(Unary::Log1p, a[0]));
    "logistic" ("a") 1..1 "1 / (1 + exp(-a))" => |g, v| each(g, v, |g, a| g.unary(Unary::Logistic, a[0]));
    "logit" ("a") 1..1 "log(a / (1 - a))" => |g, v| each(g, v, |g, a| { let (l, n) = (g.log(a[0]), g.neg(a[0])); let r = g.unary(Unary::Log1p, n); g.sub(l, r) });
    "max" ("a, b, ... or v") 1..99 "largest" => |g, v| extreme(g, v, Binary::Max);
    "mean" ("v") 1..1 "mean of the entries" => |g, v| { let s = g.total(&v[0].value.nodes); Ok(Value::scalar(g.times(1.0 / v[0].value.nodes.len().max(1) as f64, s))) };
    "min" ("a, b, ... or v") 1..99 "smallest" => |g, v| extreme(g, v, Binary::Min);
    "normal_cdf" ("a") 1..1 "probability that a standard normal is at most a" => |g, v| each(g, v, |g, a| g.unary(Unary::NormalCdf, a[0]));
    "normal_quantile" ("p") 1..1 "inverse of normal_cdf" => |g, v| each(g, v, |g, a| g.unary(Unary::NormalQuantile, a[0]));
    "one_hot" ("k, count") 2..2 "indicators of k being 1, 2, ..., count" => one_hot;
    "pow" ("a, b") 2..2 "a to the power of b, the same as a ^ b" => |g, v| each(g, v, |g, a| g.pow(a[0], a[1]));
    "round" ("a") 1..1 "nearest whole number, halves up" => |g, v| each(g, v, |g, a| { let s = g.plus(a[0], 0.5); g.unary(Unary::Floor, s) });
    "scale_rows" ("v, matrix") 2..2 "the matrix, row i times v[i]" => scale_rows;
    "sin" ("a") 1..1 "sine" => |g, v| each(g, v, |g, a| g.unary(Unary::Sin, a[0]));
    "softmax" ("v") 1..1 "exp of the entries, divided by their sum" => softmax;
    "sqrt" ("a") 1..1 "square root" => |g, v| each(g, v, |g, a| g.unary(Unary::Sqrt, a[0]));
    "sum" ("v") 1..1 "sum of the entries" => |g, v| { let s = g.total(&v[0].value.nodes); Ok(Value::scalar(s)) };
    "tanh" ("a") 1..1 "hyperbolic tangent" => |g, v| each(g, v, |g, a| g.unary(Unary::Tanh, a[0]));
}

/// The function called `name`.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl Function {
    /// The function at `arguments`, called at `span`.
    pub(super) fn call(
        &self,
        g: &mut Graph,
        arguments: &[Argument],
        span: Span,
    ) -> Result<Value, Problem> {
        let (low, high) = self.arity;
        if arguments.len() < low || arguments.len() > high {
            return Err(Problem::new(
                span,
                format!("`{}` takes {}, not {}", self.name, count(low, high), arguments.len()),
                format!("write `{}({})`", self.name, self.arguments),
            ));
        }
        (self.build)(g, arguments)
    }
}

fn count(low: usize, high: usize) -> String {
    match (low, high) {
        (1, 1) => "1 argument".into(),
        (low, high) if low == high => format!("{low} arguments"),
        (low, _) => format!("at least {low} argument"),
    }
}

/// The common shape of the arguments; single numbers broadcast.
pub(super) fn common_shape(arguments: &[Argument]) -> Result<Shape, Problem> {
    let mut shape = Shape::Scalar;
    for argument in arguments {
        let own = argument.value.shape;
        if own != Shape::Scalar && shape != Shape::Scalar && own != shape {
            return Err(Problem::new(
                argument.span,
                format!("{} where {} is needed", own.words(), shape.words()),
                "the parts must have the same shape, or be single numbers",
            ));
        }
        if own != Shape::Scalar {
            shape = own;
        }
    }
    Ok(shape)
}

/// Applies a function entry by entry.
pub(super) fn each(
    g: &mut Graph,
    arguments: &[Argument],
    f: impl Fn(&mut Graph, &[Node]) -> Node,
) -> Result<Value, Problem> {
    let shape = common_shape(arguments)?;
    let nodes = (0..shape.len()).map(|k| {
        let entry =
            |a: &Argument| a.value.nodes[if a.value.shape == Shape::Scalar { 0 } else { k }];
        let nodes: Vec<Node> = arguments.iter().map(entry).collect();
        f(g, &nodes)
    });
    Ok(Value { nodes: nodes.collect(), shape })
}

fn extreme(g: &mut Graph, arguments: &[Argument], op: Binary) -> Result<Value, Problem> {
    if let [one] = arguments {
        let nodes = &one.value.nodes;
        let node = nodes[1..].iter().fold(nodes[0], |best, &node| g.binary(op, best, node));
        return Ok(Value::scalar(node));
    }
    each(g, arguments, |g, a| a[1..].iter().fold(a[0], |best, &node| g.binary(op, best, node)))
}

fn clamp(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let ends = |k: usize| arguments[k].value.nodes.iter().map(|&n| g.constant_value(n));
    let crossed = ends(1).zip(ends(2)).find_map(|ends| match ends {
        (Some(low), Some(high)) if low > high => Some((low, high)),
        _ => None,
    });
    if let Some((low, high)) = crossed {
        return Err(Problem::new(
            arguments[1].span.to(arguments[2].span),
            format!("clamp from {low} to {high}: the lower end is above the upper one"),
            "write `clamp(a, low, high)` with low <= high",
        ));
    }
    each(g, arguments, |g, a| {
        let above = g.binary(Binary::Max, a[0], a[1]);
        g.binary(Binary::Min, above, a[2])
    })
}

fn needs_vector(argument: &Argument, function: &str) -> Result<usize, Problem> {
    match argument.value.shape {
        Shape::Vector(n) => Ok(n),
        other => Err(Problem::new(
            argument.span,
            format!("`{function}` needs a vector here, not {}", other.words()),
            "a vector is a name such as `b` of `b[1..3]`, or a list `[1, 2, 3]`",
        )),
    }
}

fn dot(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let (n, m) = (needs_vector(&arguments[0], "dot")?, needs_vector(&arguments[1], "dot")?);
    if n != m {
        return Err(Problem::new(
            arguments[1].span,
            format!("`dot` of a vector of {n} and a vector of {m}"),
            "the two vectors must have the same length",
        ));
    }
    let (v, w) = (&arguments[0].value.nodes, &arguments[1].value.nodes);
    let products: Vec<Node> = v.iter().zip(w).map(|(&a, &b)| g.mul(a, b)).collect();
    Ok(Value::scalar(g.total(&products)))
}

fn softmax(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    needs_vector(&arguments[0], "softmax")?;
    let nodes = &arguments[0].value.nodes;
    let top = nodes[1..].iter().fold(nodes[0], |best, &node| g.binary(Binary::Max, best, node));
    let powers: Vec<Node> = nodes
        .iter()
        .map(|&a| {
            let gap = g.sub(a, top);
            g.exp(gap)
        })
        .collect();
    let total = g.total(&powers);
    let shares = powers.iter().map(|&power| g.div(power, total)).collect();
    Ok(Value::vector(shares))
}

/// The constant entries of an argument.
fn constants(g: &Graph, argument: &Argument, what: &str) -> Result<Vec<f64>, Problem> {
    let values: Option<Vec<f64>> =
        argument.value.nodes.iter().map(|&n| g.constant_value(n)).collect();
    values.ok_or_else(|| {
        Problem::new(
            argument.span,
            format!("{what} must be known constants"),
            "write numbers, or give them as data",
        )
    })
}

fn histogram(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    needs_vector(&arguments[1], "histogram")?;
    let edges = constants(g, &arguments[1], "the edges of a histogram")?;
    let increasing = edges.windows(2).all(|pair| pair[0] < pair[1]);
    if edges.len() < 2 || !increasing {
        return Err(Problem::new(
            arguments[1].span,
            "the edges of a histogram must increase, and there must be two or more",
            "write `histogram(x, [0, 1, 2])` for the bins from 0 to 1 and from 1 to 2",
        ));
    }
    let &[a] = arguments[0].value.nodes.as_slice() else {
        return Err(Problem::new(
            arguments[0].span,
            "`histogram` needs a single number",
            "take one entry, as in `x[1]`",
        ));
    };
    let last = edges.len() - 2;
    let bins = edges.windows(2).enumerate().map(|(k, pair)| {
        let (low, high) = (g.constant(pair[0]), g.constant(pair[1]));
        let above = g.binary(Binary::Le, low, a);
        let below = g.binary(if k == last { Binary::Le } else { Binary::Lt }, a, high);
        g.mul(above, below)
    });
    Ok(Value::vector(bins.collect()))
}

fn one_hot(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let counts = constants(g, &arguments[1], "the count of `one_hot`")?;
    let (&[k], &[count]) = (arguments[0].value.nodes.as_slice(), counts.as_slice()) else {
        return Err(Problem::new(
            arguments[0].span,
            "`one_hot` needs single numbers",
            "write `one_hot(k, 3)`",
        ));
    };
    if !(1.0..=1000.0).contains(&count) || count != count.floor() {
        return Err(Problem::new(
            arguments[1].span,
            format!("`one_hot` with a count of {count}"),
            "a whole number from 1 to 1000",
        ));
    }
    let indicators = (1..=count as usize).map(|at| {
        let at = g.constant(at as f64);
        g.binary(Binary::Eq, k, at)
    });
    Ok(Value::vector(indicators.collect()))
}

fn square_side(argument: &Argument, function: &str) -> Result<usize, Problem> {
    match argument.value.shape {
        Shape::Matrix(rows, columns) if rows == columns => Ok(rows),
        other => Err(Problem::new(
            argument.span,
            format!("`{function}` needs a square matrix here, not {}", other.words()),
            "give it as data, or draw it by `L[1..3, 1..3] ~ lkj_cholesky(2)`",
        )),
    }
}

fn scale_rows(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let n = needs_vector(&arguments[0], "scale_rows")?;
    let d = square_side(&arguments[1], "scale_rows")?;
    if n != d {
        return Err(Problem::new(
            arguments[0].span,
            format!("a vector of {n} for {d} rows"),
            "there must be one number for each row",
        ));
    }
    let (v, matrix) = (&arguments[0].value.nodes, &arguments[1].value.nodes);
    let nodes = matrix.iter().enumerate().map(|(at, &entry)| g.mul(v[at / d], entry)).collect();
    Ok(Value { shape: Shape::Matrix(d, d), nodes })
}

/// The entries of L L' over the lengths of the two rows, which are 1 where `lkj_cholesky` drew L. Both
/// entries of a pair are the same node, and the diagonal is constant.
fn correlation(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let d = square_side(&arguments[0], "correlation")?;
    let entries = &arguments[0].value.nodes;
    let row = |i: usize| &entries[i * d..(i + 1) * d];
    let product = |g: &mut Graph, i: usize, j: usize| {
        let terms: Vec<Node> = row(i).iter().zip(row(j)).map(|(&a, &b)| g.mul(a, b)).collect();
        g.total(&terms)
    };
    let lengths: Vec<Node> = (0..d)
        .map(|i| {
            let square = product(g, i, i);
            g.unary(Unary::Sqrt, square)
        })
        .collect();
    let mut nodes = vec![g.constant(1.0); d * d];
    for (i, j) in (0..d).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let (inner, both) = (product(g, i, j), g.mul(lengths[i], lengths[j]));
        let node = g.div(inner, both);
        (nodes[i * d + j], nodes[j * d + i]) = (node, node);
    }
    Ok(Value { shape: Shape::Matrix(d, d), nodes })
}

fn cholesky(g: &mut Graph, arguments: &[Argument]) -> Result<Value, Problem> {
    let d = square_side(&arguments[0], "cholesky")?;
    let entries = constants(g, &arguments[0], "the entries of the matrix of `cholesky`")?;
    let matrix = nalgebra::DMatrix::from_row_slice(d, d, &entries);
    let symmetric = (&matrix - matrix.transpose()).amax() <= 1e-9 * matrix.amax();
    let factor = nalgebra::Cholesky::new(matrix).filter(|_| symmetric).ok_or_else(|| {
        Problem::new(
            arguments[0].span,
            "the matrix is not a covariance",
            "it must be symmetric and positive definite",
        )
    })?;
    let l = factor.l();
    let nodes = (0..d * d).map(|at| g.constant(l[(at / d, at % d)])).collect();
    Ok(Value { shape: Shape::Matrix(d, d), nodes })
}
