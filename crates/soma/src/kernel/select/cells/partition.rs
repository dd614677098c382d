//! A binary space partition of the statistics.

use serde::{Deserialize, Serialize};

use crate::records::Records;
use crate::stored::{Check, ensure};

/// The largest number of records per cell that are used to place the cuts.
const SAMPLE: usize = 48;
/// The largest excess of a leaf's depth over a balanced tree: a lookup takes as many steps as the
/// depth.
const DEEPER: usize = 1;

/// The largest number of cells.
const MOST_CELLS: usize = 128;

/// A tree of cuts, each along one coordinate, whose leaves are the cells.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Partition {
    /// The cuts, beginning with the root, then the leaves, which are their own children.
    nodes: Vec<Node>,
    cells: usize,
    depth: usize,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Node {
    pub(crate) at: f64,
    pub(crate) coordinate: u32,
    /// The children at or below the cut, and above it.
    pub(crate) next: [u16; 2],
}

impl Partition {
    /// Grows a tree of at most `cells` cells greedily: each cut lowers the expected number of
    /// trials the most. Also returns the boxes of the records used.
    pub(crate) fn grow(records: &Records, cells: usize) -> (Self, Vec<LeafBox>) {
        let n = records.n();
        let sample = (cells * SAMPLE).min(n);
        let members = (0..sample).map(|j| (j * n / sample) as u32).collect();
        let deepest = cells.next_power_of_two().trailing_zeros() as usize + DEEPER;
        let mut leaves = vec![Leaf::new(records, members, None, deepest)];
        let mut nodes: Vec<Node> = Vec::with_capacity(2 * cells);
        while leaves.len() < cells {
            let gain = |&leaf: &usize| leaves[leaf].cut.as_ref().map_or(0.0, |cut| cut.gain);
            let best = (0..leaves.len()).max_by(|a, b| gain(a).total_cmp(&gain(b)));
            let Some(best) = best.filter(|best| gain(best) > 0.0) else { break };
            let Leaf { members, parent, left, cut } = leaves.swap_remove(best);
            let Some(Cut { coordinate, at, .. }) = cut else { break };
            let node = nodes.len();
            link(&mut nodes, parent, node);
            nodes.push(Node { at, coordinate: coordinate as u32, next: [0, 0] });
            let is_below = |&&i: &&u32| records.statistic(i as usize)[coordinate] <= at;
            let (below, above): (Vec<u32>, Vec<u32>) = members.iter().partition(is_below);
            leaves.push(Leaf::new(records, below, Some((node, 0)), left - 1));
            leaves.push(Leaf::new(records, above, Some((node, 1)), left - 1));
        }
        let depth = leaves.iter().map(|leaf| deepest - leaf.left).max().unwrap_or(0);
        for leaf in &leaves {
            let node = nodes.len();
            link(&mut nodes, leaf.parent, node);
            nodes.push(Node { at: 0.0, coordinate: 0, next: [node as u16; 2] });
        }
        let parts = leaves.iter().map(|leaf| LeafBox::of(records, &leaf.members)).collect();
        (Partition { nodes, cells: leaves.len(), depth }, parts)
    }

    /// Whether this is a tree over statistics of length `k`: children come after their parents,
    /// leaves are their own children, and the depth is at most `depth`. [`Tree`](super::tree::Tree)
    /// follows it without bound checks.
    pub(crate) fn check(&self, k: usize) -> Check {
        let Partition { nodes, cells, depth } = self;
        if nodes.is_empty() {
            return ensure(*cells == 0 && *depth == 0, "an empty partition has cells or a depth");
        }
        let is_tree = (1..=MOST_CELLS).contains(cells) && nodes.len() == 2 * cells - 1;
        ensure(is_tree, "the number of cuts does not match the number of cells")?;
        let first_cell = nodes.len() - cells;
        let mut depths = vec![None; nodes.len()];
        depths[0] = Some(0);
        for (place, node) in nodes.iter().enumerate() {
            let next = node.next.map(usize::from);
            ensure((node.coordinate as usize) < k && node.at.is_finite(), "a cut is out of range")?;
            if place >= first_cell {
                ensure(next == [place; 2], "a leaf has children")?;
                continue;
            }
            for next in next {
                let leads = next > place && next < nodes.len() && depths[next].is_none();
                ensure(leads, "a child of a cut is out of range")?;
                depths[next] = depths[place].map(|depth: usize| depth + 1);
            }
        }
        let deepest = depths.into_iter().try_fold(0, |most, depth| Some(most.max(depth?)));
        ensure(deepest == Some(*depth), "the stored depth is not that of the tree")
    }

    /// The number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.cells
    }

    /// The depth of the deepest leaf.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The cuts, beginning with the root, then the leaves, which are their own children.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// Sets child `side` of `parent` to `node`.
fn link(nodes: &mut [Node], parent: Option<(usize, usize)>, node: usize) {
    if let Some((parent, side)) = parent {
        nodes[parent].next[side] = node as u16;
    }
}

/// A leaf while the tree grows, with its best cut.
struct Leaf {
    members: Vec<u32>,
    parent: Option<(usize, usize)>,
    /// The remaining depth below this leaf.
    left: usize,
    cut: Option<Cut>,
}

struct Cut {
    coordinate: usize,
    at: f64,
    gain: f64,
}

impl Leaf {
    fn new(
        records: &Records,
        members: Vec<u32>,
        parent: Option<(usize, usize)>,
        left: usize,
    ) -> Self {
        let cut = if left > 0 { best_cut(records, &members) } else { None };
        Leaf { members, parent, left, cut }
    }
}

/// The cut, at the midpoint of the box or at the mean, that lowers the expected trials the most.
fn best_cut(records: &Records, members: &[u32]) -> Option<Cut> {
    let k = records.k();
    let rows = || members.iter().map(|&i| records.statistic(i as usize));
    let mut whole = LeafBox::new(k);
    let mut means = vec![0.0; k];
    for row in rows() {
        whole.add(row);
        means.iter_mut().zip(row).for_each(|(m, t)| *m += t / members.len() as f64);
    }
    let mut best: Option<Cut> = None;
    for coordinate in 0..k {
        for at in [0.5 * (whole.low[coordinate] + whole.high[coordinate]), means[coordinate]] {
            let mut parts = [LeafBox::new(k), LeafBox::new(k)];
            for row in rows() {
                parts[usize::from(row[coordinate] > at)].add(row);
            }
            let gain = whole.trials() - parts[0].trials() - parts[1].trials();
            let most = best.as_ref().map_or(0.0, |cut| cut.gain);
            if gain > most && parts.iter().all(|part| part.count > 0) {
                best = Some(Cut { coordinate, at, gain });
            }
        }
    }
    best
}

/// A part of a cell: the number of records and their bounding box.
pub(crate) struct LeafBox {
    pub(crate) count: usize,
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
}

impl LeafBox {
    fn new(k: usize) -> Self {
        LeafBox { count: 0, low: vec![f64::INFINITY; k], high: vec![f64::NEG_INFINITY; k] }
    }

    fn of(records: &Records, members: &[u32]) -> Self {
        let mut part = LeafBox::new(records.k());
        members.iter().for_each(|&i| part.add(records.statistic(i as usize)));
        part
    }

    fn add(&mut self, row: &[f64]) {
        self.count += 1;
        for ((low, high), &t) in self.low.iter_mut().zip(&mut self.high).zip(row) {
            *low = if t < *low { t } else { *low };
            *high = if t > *high { t } else { *high };
        }
    }

    /// The contribution of the part to the expected trials: its bound exceeds a typical weight by
    /// about the exponential of half the width of the box.
    pub(crate) fn trials(&self) -> f64 {
        let width: f64 = self.low.iter().zip(&self.high).map(|(low, high)| high - low).sum();
        match self.count {
            0 => 0.0,
            count => count as f64 * (0.4 * width).min(20.0).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::RngExt;

    use super::*;
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, Release, query};
    use crate::rng;

    /// `grow` passes the check, and invalid trees, which a lookup without bound checks would follow
    /// out of range, do not.
    #[test]
    fn only_trees_pass_the_check() {
        let mut rng = rng::stream(5, 0);
        let (n, k) = (400, 2);
        let rows: Vec<f64> = (0..k * n).map(|_| rng.random::<f64>()).collect();
        let query = Arc::new(query::Mean::new(vec![(0.0, 1.0); k]).unwrap());
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.05; k]).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, n, vec![200.0; k]).unwrap();
        let records = Records::new(&release, rows).unwrap();
        for cells in [1, 2, 13, 128] {
            assert_eq!(Partition::grow(&records, cells).0.check(k), Ok(()));
        }
        assert_eq!(Partition::default().check(k), Ok(()));
        let (good, _) = Partition::grow(&records, 16);
        let bad = |change: fn(&mut Partition)| {
            let mut partition = good.clone();
            change(&mut partition);
            assert!(partition.check(k).is_err(), "{partition:?}");
        };
        bad(|partition| partition.depth = 64);
        bad(|partition| partition.depth -= 1);
        bad(|partition| partition.cells += 1);
        bad(|partition| partition.nodes[0].next = [0, 0]);
        bad(|partition| partition.nodes[0].next[1] = u16::MAX);
        bad(|partition| partition.nodes[1].next[0] = partition.nodes[0].next[0]);
        bad(|partition| partition.nodes[0].coordinate = 2);
        bad(|partition| partition.nodes[0].at = f64::NAN);
        bad(|partition| {
            partition.nodes.pop();
        });
        bad(|partition| partition.nodes.clear());
    }
}
