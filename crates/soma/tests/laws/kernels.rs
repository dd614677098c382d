//! All kernels, each with its theoretical moves.

use soma::kernel::{Kernel, KernelChoice, Soma, Strategy, Subset};

/// The sets of places that a move selects from, with their probabilities. SOMA on the set M selects
/// I from M with probability w_I / W over M, and accepts with probability min(1, W / (W + w_0 -
/// w_I)). On a single place this is independent Metropolis within Gibbs.
pub type Places = Vec<(f64, Vec<usize>)>;

pub struct Law {
    pub name: &'static str,
    /// The kernel on n records.
    pub build: fn(usize) -> Kernel,
    /// The places of move `turn` of a sweep over n records.
    pub places: fn(usize, usize) -> Places,
    /// Whether n moves are reversible with respect to pi.
    pub reversible: bool,
}

pub const ALL: &[Law] = &[
    Law { name: "soma", build: soma, places: all_places, reversible: true },
    Law { name: "soma, cells", build: soma_cells, places: all_places, reversible: true },
    Law { name: "soma, boxes", build: soma_boxes, places: all_places, reversible: true },
    Law { name: "soma-blocks", build: blocks, places: block_of_two, reversible: false },
    Law { name: "soma-subset, random", build: random_pairs, places: any_pair, reversible: true },
    Law { name: "soma-subset, cyclic", build: cyclic_pairs, places: next_pair, reversible: false },
    Law { name: "ran-imwg", build: ran, places: any_place, reversible: true },
    Law { name: "sys-imwg", build: sys, places: next_place, reversible: false },
];

fn soma(n: usize) -> Kernel {
    KernelChoice::Soma.build(n).unwrap()
}

fn soma_cells(_: usize) -> Kernel {
    Kernel::Soma(Soma::with_strategy(Strategy::Cells(3)))
}

fn soma_boxes(_: usize) -> Kernel {
    Kernel::Soma(Soma::with_strategy(Strategy::Boxes))
}

fn blocks(n: usize) -> Kernel {
    KernelChoice::SomaBlocks { size: Some(n.min(2)) }.build(n).unwrap()
}

fn block_of_two(n: usize, turn: usize) -> Places {
    let start = turn - turn % 2;
    vec![(1.0, (start..n.min(start + 2)).collect())]
}

fn random_pairs(n: usize) -> Kernel {
    KernelChoice::SomaSubset { size: 2, subset: Subset::Random }.build(n).unwrap()
}

fn cyclic_pairs(n: usize) -> Kernel {
    KernelChoice::SomaSubset { size: 2, subset: Subset::Cyclic }.build(n).unwrap()
}

fn ran(n: usize) -> Kernel {
    KernelChoice::RanImwg.build(n).unwrap()
}

fn sys(n: usize) -> Kernel {
    KernelChoice::SysImwg.build(n).unwrap()
}

fn all_places(n: usize, _: usize) -> Places {
    vec![(1.0, (0..n).collect())]
}

fn any_place(n: usize, _: usize) -> Places {
    (0..n).map(|i| (1.0 / n as f64, vec![i])).collect()
}

fn next_place(_: usize, turn: usize) -> Places {
    vec![(1.0, vec![turn])]
}

fn any_pair(n: usize, _: usize) -> Places {
    let pairs: Vec<Vec<usize>> = (0..n).flat_map(|i| (i + 1..n).map(move |j| vec![i, j])).collect();
    let each = 1.0 / pairs.len() as f64;
    pairs.into_iter().map(|pair| (each, pair)).collect()
}

fn next_pair(n: usize, turn: usize) -> Places {
    vec![(1.0, vec![2 * turn % n, (2 * turn + 1) % n])]
}
