//! What sweeps cost, counted and not clocked.

use super::{Counts, Kernel, Strategy};

/// The cost of a sweep, a move and a weight, in units of about ten nanoseconds: a record passed
/// over once, built or looked at, with its statistic.
struct Price {
    sweep: f64,
    a_move: f64,
    weight: f64,
}

/// What a bound of one record's weight costs where those of all are computed side by side.
const BOUND: f64 = 0.03;

impl Kernel {
    /// The work of a sweep that did `counts`, in passes over one record.
    ///
    /// The prices were read off `soma bench --kernel draw,sys-imwg,soma,soma-blocks --epsilon 3,30`,
    /// on the regression (the histogram, for bins). They say nothing of how long a model takes to
    /// draw a record, which all kernels pay alike.
    pub fn work(&self, counts: Counts) -> f64 {
        let moves = counts.moves as f64;
        let Price { sweep, a_move, weight } = self.price(moves);
        sweep + a_move * moves + weight * counts.evaluations as f64
    }

    /// The prices of a sweep of n moves.
    fn price(&self, n: f64) -> Price {
        let price = |sweep, a_move, weight| Price { sweep, a_move, weight };
        match self {
            Kernel::SysImwg(_) => price(3.0, 2.7, 1.0),
            Kernel::RanImwg(_) => price(3.0, 3.1, 1.0),
            Kernel::SomaBlocks(_) => price(5.0, 8.2, 1.0),
            Kernel::SomaSubset(_) => price(5.0, 10.0, 1.2),
            Kernel::SomaScan(_) => price(5.0, 5.0, 1.5),
            Kernel::Soma(soma) => match soma.strategy() {
                Some(Strategy::Scan) => price(10.0, 8.2 + BOUND * n, 1.0),
                Some(Strategy::Cells(_)) => price(100.0, 18.0, 1.5),
                Some(Strategy::Bins) => price(10.0, 4.0, 1.0),
                Some(Strategy::Ordered) => price(20.0, 9.0, 1.0),
                Some(Strategy::Boxes) => price(100.0, 60.0, 2.0),
                Some(Strategy::Weights) => price(5.0, 5.0, 2.0),
                Some(Strategy::Uniform) | None => price(10.0, 4.5, 0.7),
            },
        }
    }
}
