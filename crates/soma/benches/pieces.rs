//! The cost of the parts of a sweep, by criterion: `cargo bench -p soma-mcmc`.
//!
//! `soma bench` compares whole kernels fairly on a busy machine; these are for work on one part.
//! The cost of a weight and its acceptance test is the sys-imwg move minus the draw; that of the
//! selection of a place is a soma move, by strategy, minus the same.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nalgebra::DMatrix;
use soma::chain::{Chain, Problem};
use soma::coupling::CoupledChains;
use soma::kernel::{
    Batch, Kernel, KernelChoice, ModelProposals, Proposals, Records, Soma, SomaScan, Strategy,
    Subset,
};
use soma::model::{Model, NormalInverseGamma, Regression};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::{Aggregate, Query, Release, query};
use soma::rng;

const N: usize = 1_000;

const THETA: [f64; 4] = [-1.79, -2.89, -0.66, 1.13];

/// The paper's regression, with the records that its release was simulated from.
fn regression(epsilon: f64) -> (Problem, Vec<f64>) {
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
    let model = Regression::new(vec![0.9, -1.17], None, prior).unwrap();
    let query = query::Gram::with_range(2, (-6.0, 6.0)).unwrap();
    let mut rng = rng::stream(1, 0);
    let (mut records, mut statistics) = (vec![0.0; 3 * N], vec![0.0; 9 * N]);
    model.propose(&THETA, &mut records, &mut rng).unwrap();
    query.statistics(&records, &mut statistics).unwrap();
    let mechanism = Mechanism::new(Noise::Laplace, vec![13.0 / epsilon; 9]).unwrap();
    let mut values = mechanism.sample(&mut rng);
    for row in statistics.chunks_exact(9) {
        values.iter_mut().zip(row).for_each(|(value, t)| *value += t);
    }
    let release = Release::new(Arc::new(query), mechanism, Aggregate::Sum, N, values).unwrap();
    (Problem::new(release, Arc::new(model)).unwrap(), records)
}

fn draw(criterion: &mut Criterion) {
    let (problem, _) = regression(3.0);
    let mut proposals = ModelProposals::new(problem.model(), &THETA, problem.release());
    let (mut batch, mut rng) = (Batch::default(), rng::stream(2, 0));
    let mut group = criterion.benchmark_group("draw");
    group.throughput(Throughput::Elements(64));
    group.bench_function("regression", |bencher| {
        bencher.iter(|| proposals.fill(64, black_box(&mut batch), &mut rng).unwrap());
    });
    group.finish();
}

/// Sweeps of kernels, each on records of its own.
fn sweeps(criterion: &mut Criterion, name: &str, kernels: &[(String, Kernel)]) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(N as u64)).sample_size(20);
    for epsilon in [3.0, 30.0] {
        let (problem, records) = regression(epsilon);
        let release = problem.release();
        let potential = release.potential();
        for (name, kernel) in kernels {
            let mut records = Records::new(release, records.clone()).unwrap();
            let mut proposals = ModelProposals::new(problem.model(), &THETA, release);
            let (mut kernel, mut rng) = (kernel.clone(), rng::stream(3, 0));
            group.bench_function(BenchmarkId::new(name, epsilon), |bencher| {
                bencher.iter(|| {
                    kernel.sweep(&mut records, &mut proposals, potential, &mut rng).unwrap();
                });
            });
        }
    }
    group.finish();
}

fn kernels(criterion: &mut Criterion) {
    let choices = [
        KernelChoice::SysImwg,
        KernelChoice::RanImwg,
        KernelChoice::Soma,
        KernelChoice::SomaBlocks { size: None },
        KernelChoice::SomaSubset { size: 16, subset: Subset::Random },
    ];
    let mut kernels: Vec<(String, Kernel)> =
        choices.iter().map(|one| (one.name().to_string(), one.build(N).unwrap())).collect();
    kernels.push(("soma-scan".into(), Kernel::SomaScan(SomaScan::new())));
    sweeps(criterion, "kernel", &kernels);
}

fn strategies(criterion: &mut Criterion) {
    let strategies = [
        Strategy::Uniform,
        Strategy::Scan,
        Strategy::Cells(32),
        Strategy::Cells(64),
        Strategy::Cells(128),
    ];
    let kernel = |one: Strategy| (one.name(), Kernel::Soma(Soma::with_strategy(one)));
    sweeps(criterion, "strategy", &strategies.map(kernel));
}

/// Pairs that do not meet: many records and a sharp release.
fn coupled(criterion: &mut Criterion) {
    let (problem, records) = regression(30.0);
    let mut group = criterion.benchmark_group("coupled");
    group.throughput(Throughput::Elements(N as u64)).sample_size(10);
    for kernel in [KernelChoice::SysImwg, KernelChoice::RanImwg, KernelChoice::Soma] {
        let chain = |stream| {
            let rng = rng::stream(4, stream);
            Chain::at(&problem, kernel, THETA.to_vec(), records.clone(), rng).unwrap()
        };
        let (first, mut second) = (chain(0), chain(1));
        (0..20).for_each(|_| {
            second.step().unwrap();
        });
        let chains = [&first, &second];
        let mut pair = CoupledChains::at(&problem, kernel, 1, chains, rng::stream(4, 2)).unwrap();
        pair.step().unwrap();
        group.bench_function(kernel.name(), |bencher| bencher.iter(|| pair.step().unwrap()));
    }
    group.finish();
}

criterion_group!(pieces, draw, kernels, strategies, coupled);
criterion_main!(pieces);
