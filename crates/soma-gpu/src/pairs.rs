//! Pairs of coupled chains on a device: their meeting times.

use soma::Outcome;
use soma::chain::Problem;
use soma::coupling::{Accumulator, PairRun, PairSettings};
use soma::kernel::Counts;
use soma::rng::stream;

use crate::chains::{ITERATIONS_PER_LAUNCH, TILE, states};
use crate::device::{Buffer, Device, Entry, Params, bytes_of, read_all, round_keys};
use crate::program::Program;

/// Iterations per launch where thetas are kept: 100,000 pairs keep 100 MB of four parameters.
const ITERATIONS_OF_ESTIMATES: u64 = 32;

/// What is told of a pair after an iteration: their numbers, theta of X, and theta of Y before the meeting.
pub type Seen<'a> = dyn FnMut(usize, u64, &[f64], Option<&[f64]>) + 'a;

/// Pairs on a device. The program is that of [`Options::is_paired`](crate::Options).
#[derive(Debug)]
pub struct Pairs {
    params: Params,
    pairs: usize,
    met: Buffer,
    failed: Buffer,
    records: Buffer,
    states: Buffer,
    /// The thetas of the iterations of a launch, where they are kept.
    thetas: Option<Buffer>,
    parameters: usize,
    /// Seconds that the device took for iterations.
    pub seconds: f64,
}

impl Pairs {
    /// Starts the pairs from number `first` on with the thetas of `theta`, X and Y by turns, and records drawn from the
    /// model. X is `lag` iterations ahead.
    pub fn start(
        device: &mut dyn Device,
        program: &Program,
        problem: &Problem,
        (seed, first): (u64, u64),
        lag: u64,
        theta: &[f64],
    ) -> Outcome<Self> {
        let parameters = program.parameters;
        let pairs = theta.len() / parameters / 2;
        let stride = (2 * pairs).next_multiple_of(TILE);
        let published = program.published(problem);
        let on_device = device.allocate(size_of_val(&published[..]))?;
        device.write(on_device, bytes_of(&published))?;
        let records = device.allocate(4 * stride * program.records * program.dim)?;
        let states = device.allocate(8 * stride * parameters)?;
        let met = device.allocate(8 * 2 * stride)?;
        let failed = device.allocate(4 * stride)?;
        let kept = ITERATIONS_OF_ESTIMATES as usize * parameters;
        let thetas = program.keeps.then(|| device.allocate(4 * stride * kept)).transpose()?;
        let mut by_column = vec![0.0; parameters * stride];
        for (chain, one) in theta.chunks_exact(parameters).enumerate() {
            one.iter().enumerate().for_each(|(k, &value)| by_column[k * stride + chain] = value);
        }
        device.write(states, bytes_of(&by_column))?;
        let mut params = Params {
            published: on_device.address,
            records: records.address,
            theta: states.address,
            draws: thetas.map_or(0, |thetas| thetas.address),
            counts: met.address,
            failed: failed.address,
            first_chain: 2 * first,
            warmup: lag,
            thin: 1,
            chains: u32::try_from(2 * pairs)?,
            stride: u32::try_from(stride)?,
            chains_per_release: u32::try_from(2 * pairs)?,
            keys: round_keys([seed as u32, (seed >> 32) as u32]),
            ..Params::default()
        };
        device.launch(Entry::Start, 1, &params)?;
        params.first_chain = first;
        params.chains = u32::try_from(pairs)?;
        Ok(Pairs { params, pairs, met, failed, records, states, thetas, parameters, seconds: 0.0 })
    }

    /// Sets the records of X and of Y of every pair (row by row).
    pub fn set_records(
        &mut self,
        device: &mut dyn Device,
        program: &Program,
        [x, y]: [&[f64]; 2],
    ) -> Outcome {
        let stored = |at: usize, chain: usize| {
            program.stored(at, if chain.is_multiple_of(2) { x[at] } else { y[at] }) as f32
        };
        let tile: Vec<f32> =
            (0..x.len()).flat_map(|at| (0..TILE).map(move |chain| stored(at, chain))).collect();
        device.write(self.records, bytes_of(&tile.repeat(self.params.stride as usize / TILE)))
    }

    /// Runs up to iteration `last` of X, in launches of 128 iterations, until all pairs have met. `stop` is called
    /// between launches. Returns the iteration at which each met.
    pub fn run(
        &mut self,
        device: &mut dyn Device,
        last: u64,
        stop: &dyn Fn() -> bool,
    ) -> Outcome<Vec<Option<u64>>> {
        self.run_through(device, last, 0, &mut |_, _, _, _| (), stop)
    }

    /// The same of a program that keeps thetas; X goes on to iteration `end`, where that is later than the meeting.
    pub fn run_through(
        &mut self,
        device: &mut dyn Device,
        last: u64,
        end: u64,
        seen: &mut Seen<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Outcome<Vec<Option<u64>>> {
        let at_once =
            if self.thetas.is_some() { ITERATIONS_OF_ESTIMATES } else { ITERATIONS_PER_LAUNCH };
        self.params.thin = u32::try_from(end)?;
        let mut before = vec![0; self.pairs];
        loop {
            let met: Vec<u64> = read_all(device, self.met, self.pairs)?;
            let from = self.params.iteration;
            self.tell(device, (&before, &met), end, seen)?;
            let is_over = from >= last || met.iter().all(|&met| met > 0);
            if is_over && from >= end || stop() {
                let in_time = |met: u64| (1..=last).contains(&met).then_some(met);
                return Ok(met.into_iter().map(in_time).collect());
            }
            before = met;
            let to = last.max(end).min((from / at_once + 1) * at_once);
            self.params.iterations = u32::try_from(to - from)?;
            self.seconds += device.launch(Entry::Chains, 1, &self.params)?;
            self.params.iteration = to;
            let failed: Vec<u32> = read_all(device, self.failed, self.pairs)?;
            if let Some(pair) = failed.iter().position(|&failed| failed != 0) {
                return Err(format!(
                    "pair {} left the range of numbers on the GPU, or its chains could not be coupled. \
                     Check the scales and clamps in the spec, or use --device cpu",
                    self.params.first_chain + pair as u64
                )
                .into());
            }
        }
    }

    /// Tells `seen` of the last launch, for pairs that met at iterations `before` it and after it.
    fn tell(
        &self,
        device: &mut dyn Device,
        (before, met): (&[u64], &[u64]),
        end: u64,
        seen: &mut Seen<'_>,
    ) -> Outcome {
        let Some(thetas) = self.thetas else { return Ok(()) };
        let (stride, p) = (self.params.stride as usize, self.parameters);
        let count = self.params.iterations as usize;
        let first = self.params.iteration - count as u64 + 1;
        let all: Vec<f32> = read_all(device, thetas, count * p * stride)?;
        for step in 0..count {
            let t = first + step as u64;
            let of = |chain: usize| -> Vec<f64> {
                (0..p).map(|k| f64::from(all[(step * p + k) * stride + chain])).collect()
            };
            for pair in 0..self.pairs {
                let is_late = before[pair] > 0 && first > end;
                if is_late || met[pair] > 0 && t > met[pair].max(end) {
                    continue;
                }
                let is_apart = met[pair] == 0 || t < met[pair];
                let (x, y) = (of(2 * pair), is_apart.then(|| of(2 * pair + 1)));
                seen(pair, t, &x, y.as_deref());
            }
        }
        Ok(())
    }

    /// Moves that the chains of each pair accepted.
    pub fn accepted(&self, device: &mut dyn Device) -> Outcome<Vec<u64>> {
        let stride = self.params.stride as usize;
        let counts: Vec<u64> = read_all(device, self.met, stride + self.pairs)?;
        Ok(counts[stride..].to_vec())
    }

    /// The unconstrained theta of a chain as the device has it, and the records: X of pair c is chain 2 c, Y is 2 c + 1.
    pub fn states(
        &self,
        device: &mut dyn Device,
        program: &Program,
    ) -> Outcome<Vec<(Vec<f64>, Vec<f64>)>> {
        states(device, program, self.states, self.records, 2 * self.pairs)
    }
}

/// Meeting times of pairs `first..first + count`, as the CPU reports them, and the estimates of `functions` of theta over
/// the window, if there is one and the program keeps thetas. Marginally, each chain has the initial
/// distribution and the iterations of a plain chain with centred updates; the coupling is the device's own.
pub fn run_pairs(
    device: &mut dyn Device,
    program: &Program,
    problem: &Problem,
    settings: &PairSettings,
    (first, count): (u64, u64),
    functions: &dyn Fn(&[f64]) -> Vec<f64>,
    stop: &dyn Fn() -> bool,
) -> Outcome<(Vec<PairRun>, f64)> {
    let PairSettings { lag, max_iterations, seed, .. } = *settings;
    let window = settings.window.filter(|_| program.keeps);
    let parameters = program.parameters;
    let mut theta = vec![0.0; 2 * count as usize * parameters];
    for (chain, one) in (2 * first..).zip(theta.chunks_exact_mut(parameters)) {
        problem.model().start(problem.release(), one, &mut stream(seed, chain))?;
    }
    let mut pairs = Pairs::start(device, program, problem, (seed, first), lag, &theta)?;
    let mut sums: Vec<Accumulator> = Vec::new();
    if let Some(window) = window {
        for one in theta.chunks_exact(2 * parameters) {
            let x = functions(&one[..parameters]);
            let mut sum = Accumulator::new(window, x.len());
            sum.add(0, &x);
            sums.push(sum);
        }
    }
    let mut seen = |pair: usize, t: u64, x: &[f64], y: Option<&[f64]>| {
        let Some(sum) = sums.get_mut(pair) else { return };
        let x = functions(x);
        sum.add(t, &x);
        if let Some(y) = y.filter(|_| t >= lag) {
            sum.correct(t, lag, &x, &functions(y));
        }
    };
    let end = window.map_or(0, |window| window.m());
    let met = pairs.run_through(device, max_iterations, end, &mut seen, stop)?;
    let mut estimates = sums.into_iter().map(Accumulator::finish);
    let accepted = pairs.accepted(device)?;
    let n = program.records as u64;
    let mut run = |(index, (met, accepted)): (u64, (Option<u64>, u64))| {
        let last = met.unwrap_or(max_iterations);
        let alone = met.map_or(0, |met| end.saturating_sub(met));
        let cost = 2 * last - lag.min(last) + alone;
        let counts = Counts { moves: n * cost, accepted, evaluations: 0 };
        let estimate = estimates.next().filter(|_| met.is_some());
        PairRun { index, met, cost, counts, estimate }
    };
    Ok(((first..).zip(met.into_iter().zip(accepted)).map(&mut run).collect(), pairs.seconds))
}
