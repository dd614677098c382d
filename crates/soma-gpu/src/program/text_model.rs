//! The text of a model that is written as text, from its compiled programs.

use std::fmt::Write;

use soma::Invalid;
use soma::chain::Problem;
use soma::rng::stream;
use soma_language::program::Program;
use soma_language::{Model, Noise};

use super::language::{Drawn, Precision, Translation, literal};
use super::model::{Carried, SPAN, table};
use super::unfit;

/// The two parts of the text: what proposals need, and theta given the records, which comes after the text
/// of the records.
pub(super) struct Parts {
    pub first: String,
    pub second: String,
}

/// Newton steps in an update of theta, as on the CPU.
const NEWTON_STEPS: usize = 2;

/// Instructions up to which derivatives are worth compiling.
const MOST_INSTRUCTIONS: usize = 1_500;

/// Up to this number of records, theta given them may be far from normal: slice moves along all coordinates.
const FEW_RECORDS: usize = 64;

/// Prior draws from which the widths of slice moves are estimated.
const DRAWS: usize = 101;

/// Random calls that are set aside for draws that reject.
const SET_ASIDE: usize = 1 << 30;

/// The text of `model`, which is that of `problem`. `non_centred`: with what carries records to another theta.
pub(super) fn parts(model: &Model, problem: &Problem, non_centred: bool) -> Result<Parts, Invalid> {
    let n = problem.release().n();
    let is_slotted = problem.release().slotted().is_some();
    let programs = model.programs();
    let find = |name: &str| {
        let found = programs.iter().find(|(known, _)| *known == name);
        found.map(|(_, program)| *program)
    };
    let program = |name: &str| {
        find(name).ok_or_else(|| unfit("model", format!("no program {name}"), "a model with it"))
    };
    if model.theta_dim() == 0 {
        return Err(unfit("model.parameters", "no parameters", "a model with parameters"));
    }
    let mut first = String::new();
    let carrying = if non_centred { carrying(model) } else { None };
    let (proposals, drawn) = propose(program("propose")?, carrying.as_ref())?;
    first += &constants(drawn, problem)?;
    first += include_str!("../text/draws.cu");
    first +=
        &once("to_free", "const double* theta, double* free", "free", program("unconstrain")?)?;
    first +=
        &once("from_free", "const double* free, double* theta", "theta", program("constrain")?)?;
    first += &proposals;
    let prior = translated(program("log_prior_free")?);
    let _ = write!(
        first,
        "\n// The log prior density of free.\n\
         __device__ double log_prior(const double* free) {{\n  double out[1];\n{}{}  return out[0];\n}}\n",
        prior.theta()?,
        prior.outputs("out"),
    );
    let derivatives = find("posterior").filter(|program| {
        program.theta.len() + program.rows.len() + program.totals.len() <= MOST_INSTRUCTIONS
    });
    let derivatives = derivatives.and_then(|program| {
        let name = "differentiate";
        let what = "// The log density of free given the records, its gradient and the rows of the lower \
                    triangle of its second derivatives.\n";
        over_records(name, what, "free", "double* out", program, is_slotted).ok()
    });
    let newton = if derivatives.is_some() { NEWTON_STEPS } else { 0 };
    let rounds = match (newton, n <= FEW_RECORDS) {
        (0, _) => 2,
        (_, true) => 1,
        (_, false) => 0,
    };
    let mut second = steps(newton, rounds);
    second += &table("double", "slice_width", &widths(problem));
    second += "\n";
    let what = "// The log density of the records given theta.\n";
    second += &over_records(
        "log_likelihood",
        what,
        "theta",
        "double* out",
        program("log_likelihood")?,
        is_slotted,
    )?;
    second += "// The log density of free given the records.\n\
               __device__ __noinline__ double log_conditional(const Given& given, const double* free) {\n\
               \x20 double theta[PARAMETERS], out[1];\n  from_free(free, theta);\n  \
               log_likelihood(given, theta, out);\n  double sum = log_prior(free) + out[0];\n  \
               return sum == sum ? sum : -1.0 / 0.0;\n}\n\n";
    second += &derivatives.unwrap_or_else(|| {
        "__device__ void differentiate(const Given&, const double*, double*) {}\n\n".into()
    });
    second += include_str!("../text/conditional.cu");
    Ok(Parts { first, second })
}

/// The constants of the update of theta given the records, and what it is given.
pub(super) fn steps(newton: usize, rounds: usize) -> String {
    format!(
        "// Newton steps in an update of theta, and rounds of slice moves along all coordinates; with no \
         round it is one move along one coordinate at random.\n\
         constexpr int NEWTON_STEPS = {newton}, SLICE_ROUNDS = {rounds};\n\n\
         // What theta is updated given: the records of a chain, and sums over them.\n\
         struct Given {{ const double* sums; const float* records; u32 lane; }};\n\n"
    )
}

fn translated(program: &Program) -> Translation<'_> {
    Translation::new(program, Precision::Double, "model")
}

fn constants(drawn: Drawn, problem: &Problem) -> Result<String, Invalid> {
    let n = problem.release().n();
    let Drawn { normals, uniforms, rejecting } = drawn;
    let span = (SET_ASIDE / ((n + 2) * rejecting.max(1))).min(SPAN);
    if span < SPAN / 4 {
        let given =
            format!("{rejecting} gamma, beta, Poisson or binomial variables of {n} records");
        return Err(unfit("model.record", given, "fewer variables, or fewer records"));
    }
    Ok(format!(
        "// A record is made of standard normals, of uniforms on (0, 1), and of draws that take as many random \
         words as they need.\n\
         constexpr int NORMALS = {normals}, UNIFORMS = {uniforms}, REJECTING = {rejecting};\n\
         constexpr u32 SPAN = {span};\n\
         constexpr int FIRST_CARRIED = 0, SUMS = 0;\n\
         // Whether a proposed or carried record may leave the range of numbers.\n\
         constexpr bool MAY_OVERFLOW = true;\n\
         // Whether some non-centred updates walk, one parameter at a time: by steps up to the interquartile range of its \
         prior.\n\
         constexpr bool WALKS = true;\n{}\n\
         __device__ __forceinline__ void add_sums(const float*, float*) {{}}\n\n",
        table("double", "walk_width", &prior_widths(problem)),
    ))
}

/// A function of theta or of free alone.
fn once(name: &str, arguments: &str, out: &str, program: &Program) -> Result<String, Invalid> {
    let text = translated(program);
    Ok(format!(
        "\n__device__ void {name}({arguments}) {{\n{}{}}}\n",
        text.theta()?,
        text.outputs(out),
    ))
}

/// `drawer`, `make_record` and what carries a record, and the random numbers of a record.
fn propose(program: &Program, carrying: Option<&Carrying>) -> Result<(String, Drawn), Invalid> {
    let mut text = Translation::new(program, Precision::Single, "model.record").owned_by("d.", 's');
    let rows = text.rows()?;
    let (fields, set) = text.fields();
    let made = assigned("record", &text.row_outputs());
    let (more_fields, more, functions) = match carrying {
        Some(carrying) => (&carrying.fields[..], &carrying.compute[..], &carrying.functions[..]),
        None => ("", "", include_str!("../text/uncarried.cu")),
    };
    let all = format!(
        "\n// What a record is drawn with.\nstruct Drawer {{ {fields}{more_fields}}};\n\n\
         __device__ __forceinline__ Drawer drawer(const double* free) {{\n  double theta[PARAMETERS];\n  \
         from_free(free, theta);\n  Drawer d;\n{}{set}{more}  return d;\n}}\n\n\
         __device__ __forceinline__ void make_record(\n    const Drawer& d, const float* normals, const float* \
         uniforms, const Dice& dice, float* record) {{\n{rows}{made}}}\n{functions}",
        text.theta()?,
    );
    Ok((all, text.drawn))
}

/// `record[0] = ...;` line by line.
fn assigned(name: &str, values: &[String]) -> String {
    let line = |(k, value): (usize, &String)| format!("    {name}[{k}] = {value};\n");
    values.iter().enumerate().map(line).collect()
}

/// What moves a record to another theta with its noise held fixed.
struct Carrying {
    how: Carried,
    /// Fields of `Drawer`, and their computation.
    fields: String,
    compute: String,
    /// `Carrier` and its functions.
    functions: String,
}

/// How records of a model are carried, if they can be: if its variables are functions of their noise that the GPU has.
pub(super) fn carried(model: &Model) -> Option<Carried> {
    carrying(model).map(|carrying| carrying.how)
}

fn carrying(model: &Model) -> Option<Carrying> {
    // Single precision is enough for normal variables; it is not for the tails of others.
    let is_smooth = model.noise().iter().all(|noise| *noise == Noise::Smooth);
    let single = if is_smooth { carrying_in(model, Precision::Single) } else { None };
    single.or_else(|| carrying_in(model, Precision::Double))
}

fn carrying_in(model: &Model, precision: Precision) -> Option<Carrying> {
    let programs = model.programs();
    let find = |name: &str| {
        let found = programs.iter().find(|(known, _)| *known == name);
        found.map(|(_, program)| *program)
    };
    let translated = |name: &str, owner: &'static str, letter: char| {
        let program = find(name)?;
        let mut text = Translation::new(program, precision, "model.record").owned_by(owner, letter);
        let rows = text.rows().ok()?;
        let Drawn { normals, uniforms, rejecting } = text.drawn;
        let uniforms = (normals + rejecting == 0).then_some(uniforms)?;
        let (fields, set) = text.fields();
        let set = text.theta().ok()? + &set;
        Some((fields, set, rows, text.row_outputs(), uniforms, text.has_shapes()))
    };
    let (inverse_fields, inverse, to_noise, noise, uniforms, has_shapes) =
        translated("inverse", "c.from.", 'i')?;
    let (forward_fields, forward, to_record, record, 0, _) = translated("forward", "c.to.", 'f')?
    else {
        return None;
    };
    let kind = if precision == Precision::Single { "float" } else { "double" };
    // The noise of an integer is uniform on an interval: drawn anew in each iteration, and held in it.
    let (field, given, set, draws) = match uniforms {
        0 => ("", "", "", String::new()),
        count => (
            " Stream stream;",
            " stream",
            ", stream",
            format!("  float uniforms[{count}];\n  draw_noise(c.stream, place, uniforms);\n"),
        ),
    };
    // Quantiles are too long to be repeated in unrolled loops.
    let (quantiles, inlined) = match precision {
        Precision::Single => ("", "__forceinline__"),
        Precision::Double => (include_str!("../text/quantiles.cu"), "__noinline__"),
    };
    let of_shapes = if has_shapes { include_str!("../text/shape_quantiles.cu") } else { "" };
    let functions = format!(
        "{quantiles}{of_shapes}\n// A change of theta with the noise of a record held fixed.\n\
         struct Carrier {{ Drawer from, to; bool is_there;{field} }};\n\n\
         __device__ __forceinline__ Carrier no_carrier() {{\n  Carrier c = {{}};\n  return c;\n}}\n\n\
         __device__ __forceinline__ Carrier carrier(const Drawer& from, const Drawer& to, const Stream&{given}) {{\n  \
         return Carrier{{from, to, true{set}}};\n}}\n\n\
         __device__ {inlined} void carry(const Carrier& c, u32 place, float* record) {{\n  \
         if (!c.is_there) return;\n{draws}  {kind} noise[{}];\n  {{\n{to_noise}{}  }}\n  {{\n{to_record}{}  }}\n}}\n",
        noise.len().max(1),
        assigned("noise", &noise),
        assigned("record", &record),
    );
    let fields = inverse_fields + &forward_fields;
    let how = match precision {
        _ if has_shapes => Carried::ByShapes,
        Precision::Single => Carried::Single,
        Precision::Double => Carried::Double,
    };
    Some(Carrying { how, fields, compute: format!("{inverse}{forward}"), functions })
}

/// A function of theta or free (`input`) and of the records, with sums over them.
fn over_records(
    name: &str,
    what: &str,
    input: &str,
    out: &str,
    program: &Program,
    is_slotted: bool,
) -> Result<String, Invalid> {
    let mut text = translated(program);
    let mut load = "float record[DIM];\n    load_record(given.records, i, record);\n";
    if is_slotted {
        text = text.with_count("number_of(given.sums)");
        load = "float slot[DIM];\n    load_record(given.records, i, slot);\n    \
                if (!is_held(slot)) continue;\n    const float* record = slot + 1;\n";
    }
    let rows = text.rows()?;
    if text.drawn != Drawn::default() {
        return Err(unfit("model.record", "a random number in a density", "a density"));
    }
    Ok(format!(
        "{what}__device__ __noinline__ void {name}(const Given& given, const double* {input}, {out}) \
         {{\n{}{}#pragma unroll 1\n  for (u32 i = given.lane; i < RECORDS; i += LANES) {{\n    {load}{rows}  }}\n{}{}{}}}\n\n",
        text.theta()?,
        text.sums(),
        text.joined_sums(),
        text.totals()?,
        text.outputs("out"),
    ))
}

/// Widths of slice moves: three interquartile ranges of the prior of each unconstrained parameter, narrowed
/// by the number of records. They affect the cost only.
pub(super) fn widths(problem: &Problem) -> Vec<f64> {
    let narrowed = (problem.release().n() as f64 + 1.0).sqrt();
    prior_widths(problem).into_iter().map(|width| 3.0 * width / narrowed).collect()
}

/// The interquartile range of the prior of each unconstrained parameter.
fn prior_widths(problem: &Problem) -> Vec<f64> {
    let model = problem.record_model();
    let p = model.parameters().len();
    let Some(transport) = model.transport() else { return vec![1.0; p] };
    let (mut theta, mut free, mut rng) = (vec![0.0; p], vec![0.0; p], stream(0, 0));
    let mut columns = vec![Vec::with_capacity(DRAWS); p];
    for _ in 0..DRAWS {
        if model.sample_prior(&mut theta, &mut rng).is_ok() {
            transport.unconstrain(&theta, &mut free);
            columns.iter_mut().zip(&free).for_each(|(column, x)| column.push(*x));
        }
    }
    let width = |mut column: Vec<f64>| {
        column.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| column.get(share * column.len() / 4).copied().unwrap_or(0.0);
        let width = at(3) - at(1);
        if width.is_finite() && width > 0.0 { width } else { 1.0 }
    };
    columns.into_iter().map(width).collect()
}

/// The values of programs for statistics, as text: `v[0] = ...;` from place `first` on, with each value less its offset,
/// times its factor.
pub(super) fn statistics(
    programs: &[Program],
    first: usize,
    offsets: &[f64],
    factors: &[f64],
) -> Result<String, Invalid> {
    let mut all = String::new();
    let mut k = first;
    for program in programs {
        let mut text = Translation::new(program, Precision::Single, "release.statistics");
        let rows = text.rows()?;
        if !program.theta.is_empty() {
            return Err(unfit("release.statistics", "a parameter", "statistics of records alone"));
        }
        let _ = writeln!(all, "  {{\n{rows}");
        for value in text.row_outputs() {
            let (offset, factor) = (offsets[k - first], factors[k - first]);
            let [offset, factor] = [offset, factor].map(|x| literal(x, Precision::Single));
            let _ = writeln!(all, "    v[{k}] = ({value} - {offset}) * {factor};");
            k += 1;
        }
        all += "  }\n";
    }
    Ok(all)
}
