//! The potential: minus the log density of the release as a function of the sums of the statistics.
//! It is all that a kernel needs to know of the release.
//!
//! Its argument is the residual, published minus true value in units of the noise scale. The
//! published values are constants of the potential, so that a density that does not depend on the
//! residual alone (clamped, censored, suppressed) is possible too.

use std::fmt::Debug;
use std::sync::Arc;

use crate::simd::cost::{self, Cost};
use crate::simd::vector::Vector;

/// The potential of one coordinate as a function of its residual, for noise that is neither L1 nor
/// L2. By default it must be unimodal: decreasing up to the mode, then increasing, as for a density
/// that is log-concave in the true answer. Other curves must override `bounds`.
pub trait Curve: Debug + Send + Sync {
    /// Minus the log density, up to a constant; finite, since a chain may start at any residual.
    fn cost(&self, residual: f64) -> f64;

    /// The residual that minimises the cost; it may be infinite.
    fn mode(&self) -> f64 {
        0.0
    }

    /// The minimum and the maximum of the cost over an interval: the minimum at the point nearest
    /// to the mode, the maximum at an end.
    fn bounds(&self, low: f64, high: f64) -> (f64, f64) {
        let mode = self.mode();
        let nearest = if mode > low { mode.min(high) } else { low };
        (self.cost(nearest), self.cost(low).max(self.cost(high)))
    }
}

/// The joint potential of several coordinates, of which only the value is available.
pub trait Joint: Debug + Send + Sync {
    /// Minus the log density, up to a constant.
    fn cost(&self, residual: &[f64]) -> f64;
}

/// The potential of one coordinate.
#[derive(Debug, Clone)]
pub enum Coordinate {
    /// |r|: Laplace, continuous or discrete.
    L1,
    /// r^2 / 2: Gaussian, continuous or discrete.
    L2,
    /// Any other log-concave noise.
    Curve(Arc<dyn Curve>),
}

impl Coordinate {
    /// Minus the log density of a residual, up to a constant.
    #[inline]
    pub fn cost(&self, residual: f64) -> f64 {
        match self {
            Coordinate::L1 => residual.abs(),
            Coordinate::L2 => 0.5 * residual * residual,
            Coordinate::Curve(curve) => curve.cost(residual),
        }
    }

    /// The minimum and the maximum of the cost over residuals from `low` to `high`.
    #[inline]
    pub fn bounds(&self, low: f64, high: f64) -> (f64, f64) {
        if let Coordinate::Curve(curve) = self {
            return curve.bounds(low, high);
        }
        let nearest = if low < 0.0 { high.min(0.0) } else { low };
        (self.cost(nearest), self.cost(low).max(self.cost(high)))
    }
}

/// A norm: of a sensitivity, and of the potential of Laplace and Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Sum of absolute values: Laplace.
    L1,
    /// Euclidean: Gaussian.
    L2,
}

/// Consecutive coordinates of the release.
#[derive(Debug, Clone)]
pub enum Block {
    /// One coordinate.
    Coordinate(Coordinate),
    /// The given number of coordinates with a joint potential.
    Joint(usize, Arc<dyn Joint>),
}

impl Block {
    /// The number of coordinates.
    fn len(&self) -> usize {
        match self {
            Block::Coordinate(_) => 1,
            Block::Joint(len, _) => *len,
        }
    }
}

/// Minus the log density of the release, up to a constant: a sum over blocks of coordinates.
#[derive(Debug, Clone)]
pub struct Potential {
    blocks: Vec<Block>,
    /// The block of each coordinate; empty if every block has one coordinate.
    block_of: Vec<usize>,
    norm: Option<Norm>,
    separable: bool,
}

impl Potential {
    /// The potential of consecutive blocks.
    pub fn new(blocks: Vec<Block>) -> Self {
        let all = |is: fn(&Block) -> bool| !blocks.is_empty() && blocks.iter().all(is);
        let norm = if all(|block| matches!(block, Block::Coordinate(Coordinate::L1))) {
            Some(Norm::L1)
        } else if all(|block| matches!(block, Block::Coordinate(Coordinate::L2))) {
            Some(Norm::L2)
        } else {
            None
        };
        let separable = blocks.iter().all(|block| matches!(block, Block::Coordinate(_)));
        let block_of = match separable {
            true => Vec::new(),
            false => (0..).zip(&blocks).flat_map(|(b, block)| vec![b; block.len()]).collect(),
        };
        Potential { blocks, block_of, norm, separable }
    }

    /// `k` coordinates of the same norm.
    pub fn of_norm(norm: Norm, k: usize) -> Self {
        let coordinate = match norm {
            Norm::L1 => Coordinate::L1,
            Norm::L2 => Coordinate::L2,
        };
        Potential::new(vec![Block::Coordinate(coordinate); k])
    }

    /// The norm, if it is the same in all coordinates: then there are fast paths, and the noise is
    /// Gaussian or a scale mixture of Gaussians.
    pub fn norm(&self) -> Option<Norm> {
        self.norm
    }

    /// Whether this is a sum over coordinates: then costs can be bounded over boxes.
    pub fn is_separable(&self) -> bool {
        self.separable
    }

    /// The potential of coordinate c, if this is a sum over coordinates and c is in range.
    #[inline]
    pub fn coordinate(&self, c: usize) -> Option<&Coordinate> {
        match self.blocks.get(c) {
            Some(Block::Coordinate(coordinate)) if self.separable => Some(coordinate),
            _ => None,
        }
    }

    /// The potential of coordinate c, unless it is part of a joint one.
    #[inline]
    pub(crate) fn separate(&self, c: usize) -> Option<&Coordinate> {
        let block = if self.separable { c } else { *self.block_of.get(c)? };
        match self.blocks.get(block) {
            Some(Block::Coordinate(coordinate)) => Some(coordinate),
            _ => None,
        }
    }

    /// Minus the log density of a residual, up to a constant.
    pub fn cost(&self, residual: &[f64]) -> f64 {
        match self.norm {
            Some(Norm::L1) => residual.iter().map(|r| r.abs()).sum(),
            Some(Norm::L2) => 0.5 * residual.iter().map(|r| r * r).sum::<f64>(),
            None => self.cost_of_blocks(residual, |_| true),
        }
    }

    /// The part of the cost outside L1 and L2 coordinates: the noise that is not a scale mixture of
    /// normals.
    pub(crate) fn cost_beyond_norms(&self, residual: &[f64]) -> f64 {
        let is_norm =
            |block: &Block| matches!(block, Block::Coordinate(Coordinate::L1 | Coordinate::L2));
        match self.norm {
            Some(_) => 0.0,
            None => self.cost_of_blocks(residual, |block| !is_norm(block)),
        }
    }

    fn cost_of_blocks(&self, residual: &[f64], is_counted: impl Fn(&Block) -> bool) -> f64 {
        let (mut total, mut at) = (0.0, 0);
        for block in &self.blocks {
            let of_block = &residual[at..at + block.len()];
            at += of_block.len();
            if is_counted(block) {
                total += match block {
                    Block::Coordinate(coordinate) => coordinate.cost(of_block[0]),
                    Block::Joint(_, joint) => joint.cost(of_block),
                };
            }
        }
        total
    }

    /// The log density of a residual, up to a constant.
    pub fn log_density(&self, residual: &[f64]) -> f64 {
        -self.cost(residual)
    }

    /// The cost of the residual `apart + old`.
    pub(crate) fn cost_apart(&self, apart: &[f64], old: &[f64]) -> f64 {
        self.cost_of(apart.len(), |c| apart[c] + old[c])
    }

    /// The cost of the residual whose coordinates are `residual(c)`.
    fn cost_of(&self, k: usize, residual: impl Fn(usize) -> f64) -> f64 {
        if self.separable {
            let coordinates = self.blocks.iter().enumerate();
            return coordinates
                .map(|(c, block)| match block {
                    Block::Coordinate(coordinate) => coordinate.cost(residual(c)),
                    Block::Joint(..) => 0.0,
                })
                .sum();
        }
        const SHORT: usize = 32;
        if k <= SHORT {
            let mut all = [0.0; SHORT];
            (0..k).for_each(|c| all[c] = residual(c));
            return self.cost(&all[..k]);
        }
        self.cost(&(0..k).map(residual).collect::<Vec<f64>>())
    }
}

/// A potential in an inner loop: [`L1`](cost::L1) and [`L2`](cost::L2) with vectors V for
/// statistics of a length K known at compile time (0 if unknown), and any other [`Potential`].
pub(crate) trait Evaluate {
    /// Whether the cost of a coordinate is |r|.
    const IS_L1: bool;

    /// The cost of one coordinate, if the potential is a sum over coordinates. Zero beyond the last
    /// one, for records in no bin.
    fn coordinate_cost(&self, c: usize, residual: f64) -> f64;

    /// The cost of a residual: -log w_0.
    fn current_cost<V: Vector, const K: usize>(&self, residual: &[f64]) -> f64;

    /// The cost after a record with statistic `new` has replaced one with `old`: -log w_i.
    fn cost_after<V: Vector, const K: usize>(
        &self,
        residual: &[f64],
        old: &[f64],
        new: &[f64],
    ) -> f64;
}

impl<S: Cost> Evaluate for S {
    const IS_L1: bool = !S::IS_CURVED;

    #[inline(always)]
    fn coordinate_cost(&self, _: usize, residual: f64) -> f64 {
        S::cost(residual)
    }

    #[inline(always)]
    fn current_cost<V: Vector, const K: usize>(&self, residual: &[f64]) -> f64 {
        -cost::log_density_with::<S, V, K>(residual)
    }

    #[inline(always)]
    fn cost_after<V: Vector, const K: usize>(
        &self,
        residual: &[f64],
        old: &[f64],
        new: &[f64],
    ) -> f64 {
        -cost::log_weight_with::<S, V, K>(residual, old, new)
    }
}

impl Evaluate for Potential {
    const IS_L1: bool = false;

    fn coordinate_cost(&self, c: usize, residual: f64) -> f64 {
        self.coordinate(c).map_or(0.0, |coordinate| coordinate.cost(residual))
    }

    fn current_cost<V: Vector, const K: usize>(&self, residual: &[f64]) -> f64 {
        self.cost(residual)
    }

    fn cost_after<V: Vector, const K: usize>(
        &self,
        residual: &[f64],
        old: &[f64],
        new: &[f64],
    ) -> f64 {
        self.cost_of(residual.len(), |c| residual[c] + old[c] - new[c])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::cost::{L1, L2};
    use crate::simd::vector::Portable;

    #[derive(Debug)]
    struct Range;

    impl Joint for Range {
        fn cost(&self, residual: &[f64]) -> f64 {
            let most = residual.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most - residual.iter().copied().fold(f64::INFINITY, f64::min)
        }
    }

    #[derive(Debug)]
    struct Slope;

    impl Curve for Slope {
        fn cost(&self, residual: f64) -> f64 {
            residual.exp()
        }

        fn mode(&self) -> f64 {
            f64::NEG_INFINITY
        }
    }

    /// All ways to evaluate a potential agree, with blocks in order.
    #[test]
    fn costs_agree() {
        let (old, new) = ([1.0, 0.0, 2.0], [0.0, 1.0, 0.5]);
        let residual = [0.25, -3.0, 1.5];
        let after: Vec<f64> = (0..3).map(|c| residual[c] + old[c] - new[c]).collect();
        for (norm, fast) in [
            (Norm::L1, L1.cost_after::<Portable, 3>(&residual, &old, &new)),
            (Norm::L2, L2.cost_after::<Portable, 3>(&residual, &old, &new)),
        ] {
            let potential = Potential::of_norm(norm, 3);
            assert_eq!(potential.norm(), Some(norm));
            assert!((potential.cost(&after) - fast).abs() < 1e-12);
            let slow = potential.cost_after::<Portable, 0>(&residual, &old, &new);
            assert!((slow - fast).abs() < 1e-12);
        }
        let joint: Arc<dyn Joint> = Arc::new(Range);
        let blocks = vec![Block::Coordinate(Coordinate::L2), Block::Joint(2, joint)];
        let potential = Potential::new(blocks);
        assert_eq!((potential.norm(), potential.is_separable()), (None, false));
        assert!(matches!(potential.separate(0), Some(Coordinate::L2)));
        assert!((1..4).all(|c| potential.separate(c).is_none()));
        let beyond = (after[1] - after[2]).abs();
        assert!((potential.cost_beyond_norms(&after) - beyond).abs() < 1e-12);
        let expected = 0.5 * after[0] * after[0] + (after[1] - after[2]).abs();
        assert!((potential.cost(&after) - expected).abs() < 1e-12);
        let slow = potential.cost_after::<Portable, 0>(&residual, &old, &new);
        assert!((slow - expected).abs() < 1e-12);
    }

    /// The bounds over an interval hold and are attained.
    #[test]
    fn bounds_hold_over_intervals() {
        for coordinate in [Coordinate::L1, Coordinate::L2, Coordinate::Curve(Arc::new(Slope))] {
            for (low, high) in [(-2.0, -1.0), (-1.5, 0.5), (0.0, 0.0), (0.5, 3.0)] {
                let (least, most) = coordinate.bounds(low, high);
                let costs: Vec<f64> = (0..=1000)
                    .map(|j| coordinate.cost(low + (high - low) * f64::from(j) / 1000.0))
                    .collect();
                let found = costs.iter().copied().fold(f64::INFINITY, f64::min);
                assert!(least <= found && found < least + 1e-2, "{coordinate:?} {low} {high}");
                let found = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!((most - found).abs() < 1e-12);
            }
        }
    }
}
