//! The predicted memory of a run compared with the use counted by an allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use soma::chain::{Collected, MemoryNeed, run};
use soma::spec::Spec;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize, less: usize) {
    let now = NOW.fetch_add(more, Ordering::Relaxed) + more;
    PEAK.fetch_max(now, Ordering::Relaxed);
    NOW.fetch_sub(less, Ordering::Relaxed);
}

// SAFETY: delegates to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn spec(n: usize, values: &str, query: &str, mechanism: &str, model: &str, sampler: &str) -> Spec {
    let text = format!(
        "[release]\nn = {n}\nstatistic = \"sum\"\nvalues = {values}\nquery = {query}\n\
         mechanism = {mechanism}\n[model]\n{model}\n[sampler]\nchains = 2\nwarmup = 100\n\
         draws = 20\n{sampler}\n"
    );
    Spec::parse(&text).unwrap()
}

const LAPLACE: &str = "{ kind = \"laplace\", epsilon = 1.0 }";
const NORMAL: &str = "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.5, \
                      lambda = 0.1, shape = 2.0, rate = 0.1 }";
const CATEGORICAL: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";
const GAMMA: &str = "prior = { kind = \"gamma\", shape = 2.0, rate = 1.0 }";
const MEAN: &str = "{ kind = \"mean\", clamp = [0.0, 1.0] }";

/// One test, since there is only one allocator. The prediction is between the peak and three times
/// the peak.
#[test]
fn the_need_is_what_is_taken() {
    diagnostics_take_little();
    sizes_beyond_all_measure_are_counted();
    let n = 40_000;
    let half = format!("[{}]", n / 2);
    let regression = "kind = \"regression\"\npredictors = { mean = [0.5] }\nprior = { kind = \
                      \"normal-inverse-gamma\", mean = [0.0, 0.0], precision = 1.0, shape = 2.0, \
                      rate = 1.0 }";
    let gram = "{ kind = \"gram\", clamp = [-5.0, 5.0], predictors = 1 }";
    let (beta, dirichlet) =
        (format!("kind = \"beta\"\n{GAMMA}"), format!("kind = \"dirichlet\"\n{GAMMA}"));
    let bins = "{ kind = \"histogram\", range = [0.0, 1.0], bins = 10 }";
    let counts = format!("[{}]", vec![(n / 10).to_string(); 10].join(", "));
    let many = format!("[{}]", vec!["10"; n / 10].join(", "));
    let geometric = "{ kind = \"discrete-laplace\", epsilon = 1.0 }";
    let uniform = "kind = \"uniform\"\nrange = [0.0, 1.0]";
    let problems = [
        ("normal", spec(n, &half, MEAN, LAPLACE, NORMAL, "")),
        ("normal, sys-imwg", spec(n, &half, MEAN, LAPLACE, NORMAL, "kernel = \"sys-imwg\"")),
        ("normal, centred", spec(n, &half, MEAN, LAPLACE, NORMAL, "moves = \"centred\"")),
        ("regression", spec(n, "[0, 0, 0, 0, 0]", gram, LAPLACE, regression, "")),
        (
            "regression, soma",
            spec(n, "[0, 0, 0, 0, 0]", gram, LAPLACE, regression, "kernel = \"soma\""),
        ),
        ("beta", spec(n, &half, MEAN, LAPLACE, &beta, "")),
        ("dirichlet", spec(n, "[13000, 13000, 14000]", MEAN, LAPLACE, &dirichlet, "")),
        ("histogram", spec(n, &counts, bins, geometric, NORMAL, "kernel = \"soma\"")),
        ("counts", spec(n, &many, "{ kind = \"categories\" }", geometric, CATEGORICAL, "")),
        ("uniform", spec(n, &counts, bins, geometric, uniform, "")),
    ];
    let mut wrong = Vec::new();
    for (name, spec) in &problems {
        let settings = spec.settings().unwrap();
        for threads in [1, 2] {
            let before = NOW.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            let collected = Collected::new(settings.chains);
            run(&spec.problem, &settings, NonZeroUsize::new(threads).unwrap(), &collected).unwrap();
            let taken = (PEAK.load(Ordering::Relaxed) - before) as f64 / n as f64;
            let need = MemoryNeed::of(&spec.problem, &settings, threads, false).bytes();
            let need = need as f64 / n as f64;
            let line = format!("{name} on {threads}: {taken:.0} bytes a record, {need:.0} said");
            println!("{line}");
            if !(1.0..3.0).contains(&(need / taken)) {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The table of a stored run is computed parameter by parameter: the memory per draw, besides the
/// column of one parameter, does not depend on the number of parameters.
fn diagnostics_take_little() {
    let chains: Vec<Vec<f64>> = (0..4u64)
        .map(|c| (0..100_000u64).map(|t| ((t * 7919 + c * 104_729) % 99_991) as f64).collect())
        .collect();
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let summary = soma::diagnostics::Summary::of(&chains);
    let each = (PEAK.load(Ordering::Relaxed) - before) as f64 / 400_000.0;
    assert!(summary.rhat.is_finite());
    assert!(each < 45.0, "{each} bytes for each draw");
}

/// Huge sizes are computed without an allocation.
fn sizes_beyond_all_measure_are_counted() {
    let values = "[5e8]";
    let large = spec(1_000_000_000, values, MEAN, LAPLACE, NORMAL, "");
    let settings = large.settings().unwrap();
    let need = |threads| MemoryNeed::of(&large.problem, &settings, threads, false);
    assert!(need(1).bytes() > 16_000_000_000);
    assert_eq!(need(2).bytes() - need(2).draws, 2 * (need(1).bytes() - need(1).draws));
    assert_eq!(need(100), need(2));
    assert!(need(1).bytes() < MemoryNeed::of(&large.problem, &settings, 1, true).bytes());
    let endless = soma::chain::Settings { draws: u64::MAX, ..settings.clone() };
    assert_eq!(MemoryNeed::of(&large.problem, &endless, 1, false).bytes(), u64::MAX);
}
