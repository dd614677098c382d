//! Chains on a device, run in launches of 128 iterations.

use soma::Outcome;
use soma::chain::Problem;
use soma::model::{Model, Recipe};
use soma::rng::{Rng, stream};

use crate::device::{Buffer, Device, Entry, Params, bytes_of, read_all, round_keys};
use crate::program::Program;

/// Iterations per launch. A constant, so that a run is split at the same iterations whatever the number
/// of chains and the card.
pub const ITERATIONS_PER_LAUNCH: u64 = 128;

/// Chains whose records are contiguous in memory: `TILE` of the text.
pub(crate) const TILE: usize = 32;

/// Chains with the same start: a superchain of nested R-hat.
pub const SUPERCHAIN: usize = 16;

/// The draws of one launch, or of several: `[draw][parameter and cost][chain]`.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    /// The number of chains.
    pub chains: usize,
    /// Values of a draw: those of [`Program::outputs`], and the cost of the release in nats.
    pub width: usize,
    /// All values.
    pub values: Vec<f32>,
}

impl Drawn {
    /// The number of draws of each chain.
    pub fn draws(&self) -> usize {
        self.values.len() / (self.chains * self.width).max(1)
    }

    /// Value `k` of draw `draw` of chain `chain`.
    pub fn get(&self, draw: usize, k: usize, chain: usize) -> f64 {
        f64::from(self.values[(draw * self.width + k) * self.chains + chain])
    }

    /// Value `k` of the draws of a chain.
    pub fn column(&self, k: usize, chain: usize) -> Vec<f64> {
        (0..self.draws()).map(|draw| self.get(draw, k, chain)).collect()
    }
}

/// Chains on a device.
#[derive(Debug)]
pub struct Chains {
    params: Params,
    lanes: usize,
    width: usize,
    moves: u64,
    theta_moves: usize,
    draws: Buffer,
    counts: Buffer,
    failed: Buffer,
    records: Buffer,
    states: Buffer,
    places: Buffer,
    proposals: Buffer,
    dim: usize,
    /// Seconds that the device took for iterations.
    pub seconds: f64,
}

/// Starting values of theta for chains `first..first + count`, chain by chain. They are drawn near the release,
/// once per [`SUPERCHAIN`] chains.
pub fn starts(problem: &Problem, seed: u64, first: u64, count: usize) -> Outcome<Vec<f64>> {
    let parameters = problem.record_model().parameters().len().max(1);
    let mut all = vec![0.0; parameters * count];
    let mut last: Option<(u64, Vec<f64>)> = None;
    for (chain, theta) in (first..).zip(all.chunks_exact_mut(parameters)) {
        let number = chain / SUPERCHAIN as u64;
        if last.as_ref().is_none_or(|(had, _)| *had != number) {
            let start = start(problem, &mut stream(seed, number))?;
            last = Some((number, start));
        }
        theta.copy_from_slice(&last.as_ref().expect("made above").1);
    }
    Ok(all)
}

/// Prior draws among which the start of a model without a start of its own is chosen.
const CANDIDATES: usize = 64;

/// Records that are drawn at each candidate, at most.
const DRAWN: usize = 256;

/// The start that a model has of its own, or theta where it is fixed.
pub(crate) fn own_start(problem: &Problem, rng: &mut Rng) -> Outcome<Vec<f64>> {
    let model = problem.record_model();
    // Where the model has no parameters, one that is 0 stands for them.
    let mut theta = vec![0.0; model.parameters().len().max(1)];
    if let Some(fixed) = problem.fixed() {
        theta[..fixed.len()].copy_from_slice(fixed);
        return Ok(theta);
    }
    for _ in 0..CANDIDATES {
        match problem.release().slotted() {
            // A release of slots for counts says little about the model of a record.
            Some(_) if problem.counts().is_ok() => model.sample_prior(&mut theta, rng)?,
            _ => problem.model().start(problem.release(), &mut theta, rng)?,
        }
        if is_inside(model, &theta) {
            break;
        }
    }
    Ok(theta)
}

/// Whether theta is inside of its range: a probability may have been rounded to 0 or 1, from where no chain returns.
fn is_inside(model: &dyn Model, theta: &[f64]) -> bool {
    let Some(transport) = model.transport() else { return true };
    let mut free = vec![0.0; theta.len()];
    transport.unconstrain(theta, &mut free);
    free.iter().all(|x| x.is_finite())
}

/// A theta near the release. For models written as text it is that one of some prior draws at which records give
/// the likeliest release: from a theta far out, where all records are clamped, a chain would not find back.
fn start(problem: &Problem, rng: &mut Rng) -> Outcome<Vec<f64>> {
    let (model, release) = (problem.model(), problem.release());
    let recipe = problem.record_model().recipe();
    if problem.fixed().is_some() || !matches!(recipe, Some(Recipe::Text(_))) {
        return own_start(problem, rng);
    }
    let mut theta = vec![0.0; model.parameters().len()];
    let (n, k) = (release.n().min(DRAWN), release.query().dim());
    let (sums, scales) = (release.sums(), release.sum_scales());
    let share = release.n() as f64 / n as f64;
    let (mut records, mut statistics) = (vec![0.0; n * model.record_dim()], vec![0.0; n * k]);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for _ in 0..CANDIDATES {
        model.sample_prior(&mut theta, rng)?;
        if !is_inside(problem.record_model(), &theta) {
            continue;
        }
        if model.propose(&theta, &mut records, rng).is_err()
            || release.query().statistics(&records, &mut statistics).is_err()
        {
            continue;
        }
        let sum = |c: usize| share * statistics.iter().skip(c).step_by(k).sum::<f64>();
        let residual: Vec<f64> = (0..k).map(|c| (sums[c] - sum(c)) / scales[c]).collect();
        let cost = release.potential().cost(&residual);
        if cost.is_finite() && best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, theta.clone()));
        }
    }
    Ok(best.map_or(theta, |(_, theta)| theta))
}

impl Chains {
    /// Starts one chain per row of `theta`, with records drawn from the model. `published` has the values of the
    /// releases, one release after the other; each gets the same number of chains.
    #[expect(clippy::too_many_arguments, reason = "each is one thing, named at the call")]
    pub fn start(
        device: &mut dyn Device,
        program: &Program,
        seed: u64,
        first_chain: u64,
        warmup: u64,
        thin: u64,
        published: &[f64],
        theta: &[f64],
    ) -> Outcome<Self> {
        let parameters = program.parameters;
        let chains = theta.len() / parameters;
        let releases = published.len() / program.statistics();
        let stride = chains.next_multiple_of(TILE);
        let columns = |rows: usize, size: usize| rows * stride * size;
        let width = program.outputs.len() + 1;
        let rows = ITERATIONS_PER_LAUNCH.div_ceil(thin) as usize;
        let on_device = device.allocate(size_of_val(published))?;
        device.write(on_device, bytes_of(published))?;
        let records = device.allocate(columns(program.records * program.dim, 4))?;
        let states = device.allocate(columns(parameters, 8))?;
        let tuning = device.allocate(columns(program.tuning(), 8))?;
        let draws = device.allocate(columns(rows * width, 4))?;
        let counts = device.allocate(columns(2, 8))?;
        let failed = device.allocate(columns(1, 4))?;
        let places = device.allocate(columns(1, 4))?;
        let proposals = device.allocate(columns(program.dim, 4))?;
        let mut by_column = vec![0.0; parameters * stride];
        for (chain, one) in theta.chunks_exact(parameters).enumerate() {
            one.iter().enumerate().for_each(|(k, &value)| by_column[k * stride + chain] = value);
        }
        device.write(states, bytes_of(&by_column))?;
        let params = Params {
            published: on_device.address,
            records: records.address,
            theta: states.address,
            tuning: tuning.address,
            draws: draws.address,
            counts: counts.address,
            failed: failed.address,
            places: places.address,
            proposals: proposals.address,
            first_chain,
            iteration: 0,
            warmup,
            iterations: 0,
            thin: u32::try_from(thin)?,
            chains: u32::try_from(chains)?,
            stride: u32::try_from(stride)?,
            chains_per_release: u32::try_from(chains / releases.max(1))?,
            keys: round_keys([seed as u32, (seed >> 32) as u32]),
            padding: 0,
        };
        device.launch(Entry::Start, 1, &params)?;
        let (lanes, moves) = (program.lanes, program.records as u64);
        let theta_moves = program.non_centred.max(1);
        let dim = program.dim;
        Ok(Chains {
            params,
            lanes,
            width,
            moves,
            theta_moves,
            draws,
            counts,
            failed,
            records,
            states,
            places,
            proposals,
            dim,
            seconds: 0.0,
        })
    }

    /// Iterations done.
    pub fn iteration(&self) -> u64 {
        self.params.iteration
    }

    /// The number of chains.
    pub fn count(&self) -> usize {
        self.params.chains as usize
    }

    /// Sets the records of every chain to `records` (row by row).
    pub fn set_records(
        &mut self,
        device: &mut dyn Device,
        program: &Program,
        records: &[f64],
    ) -> Outcome {
        let each = records.iter().enumerate();
        let stored = each.map(|(at, &x)| program.stored(at, x) as f32);
        let tile: Vec<f32> = stored.flat_map(|x| std::iter::repeat_n(x, TILE)).collect();
        device.write(self.records, bytes_of(&tile.repeat(self.params.stride as usize / TILE)))
    }

    /// Runs one launch: up to [`ITERATIONS_PER_LAUNCH`] iterations, at most up to iteration `last`. Returns
    /// the draws that were kept, if `keep`.
    pub fn advance(&mut self, device: &mut dyn Device, last: u64, keep: bool) -> Outcome<Drawn> {
        let from = self.params.iteration;
        let to = last.min((from / ITERATIONS_PER_LAUNCH + 1) * ITERATIONS_PER_LAUNCH);
        self.params.iterations = u32::try_from(to - from)?;
        self.seconds += device.launch(Entry::Chains, self.lanes, &self.params)?;
        self.params.iteration = to;
        self.check(device)?;
        let mut drawn = Drawn { chains: self.count(), width: self.width, values: Vec::new() };
        let kept = |iteration: u64| {
            iteration.saturating_sub(self.params.warmup) / u64::from(self.params.thin)
        };
        let rows = (kept(to) - kept(from)) as usize * self.width;
        if keep && rows > 0 {
            let stride = self.params.stride as usize;
            let all: Vec<f32> = read_all(device, self.draws, rows * stride)?;
            all.chunks_exact(stride).for_each(|row| drawn.values.extend(&row[..drawn.chains]));
        }
        Ok(drawn)
    }

    /// Fails if theta or the cost of a chain is not finite.
    fn check(&self, device: &mut dyn Device) -> Outcome {
        let failed: Vec<u32> = read_all(device, self.failed, self.count())?;
        match failed.iter().position(|&iteration| iteration != 0) {
            None => Ok(()),
            Some(chain) => Err(format!(
                "chain {} left the range of numbers on the GPU at iteration {}: its theta or the cost of \
                 the release is not finite. Check the scales and clamps in the spec, or use --device cpu, \
                 which computes in double precision",
                self.params.first_chain + chain as u64,
                failed[chain] - 1
            )
            .into()),
        }
    }

    /// The unconstrained theta of each chain as the device has it, and its records.
    pub fn states(
        &self,
        device: &mut dyn Device,
        program: &Program,
    ) -> Outcome<Vec<(Vec<f64>, Vec<f64>)>> {
        states(device, program, self.states, self.records, self.count())
    }

    /// Acceptance rates after warm-up: of moves, and of non-centred updates.
    pub fn acceptance(&self, device: &mut dyn Device) -> Outcome<(f64, f64)> {
        let stride = self.params.stride as usize;
        let counts: Vec<u64> = read_all(device, self.counts, 2 * stride)?;
        let sum = |row: usize| counts[row * stride..][..self.count()].iter().sum::<u64>() as f64;
        let sweeps = self.params.iteration.saturating_sub(self.params.warmup) as f64;
        let sweeps = sweeps * self.count() as f64;
        Ok((sum(0) / (sweeps * self.moves as f64), sum(1) / (sweeps * self.theta_moves as f64)))
    }

    /// For a frozen program: the place that each proposal took (-1 if rejected), and the proposals.
    pub fn frozen(
        &self,
        device: &mut dyn Device,
        program: &Program,
    ) -> Outcome<(Vec<i32>, Vec<Vec<f64>>)> {
        let (stride, chains) = (self.params.stride as usize, self.count());
        let places = read_all(device, self.places, chains)?;
        let all: Vec<f32> = read_all(device, self.proposals, self.dim * stride)?;
        let get = |d: usize, chain: usize| program.shown(d, f64::from(all[d * stride + chain]));
        let of = |chain: usize| (0..self.dim).map(|d| get(d, chain)).collect();
        Ok((places, (0..chains).map(of).collect()))
    }
}

/// The unconstrained theta and the records of the first `count` chains in memory.
pub(crate) fn states(
    device: &mut dyn Device,
    program: &Program,
    theta: Buffer,
    records: Buffer,
    count: usize,
) -> Outcome<Vec<(Vec<f64>, Vec<f64>)>> {
    let (stride, length) = (count.next_multiple_of(TILE), program.records * program.dim);
    let theta: Vec<f64> = read_all(device, theta, stride * program.parameters)?;
    let records: Vec<f32> = read_all(device, records, stride * length)?;
    let one = |chain: usize| {
        let free = (0..program.parameters).map(|k| theta[k * stride + chain]).collect();
        let tile = chain / TILE * TILE * length + chain % TILE;
        let at = |place: usize| program.shown(place, f64::from(records[tile + place * TILE]));
        (free, (0..length).map(at).collect())
    };
    Ok((0..count).map(one).collect())
}
