//! Prefix sums by blocks of four.

/// Up to so many fours are always summed up together.
const FEW: usize = 8;

/// Masses that change a few at a time, from which one is drawn with a probability proportional to
/// it: which four first, and then which of the four. There is no branch that chance decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockedPrefix {
    masses: Vec<[f64; 4]>,
    /// The sums of the masses before each in its four.
    within: Vec<[f64; 4]>,
    /// The sums of the fours before each, and of all.
    before: Vec<f64>,
}

impl BlockedPrefix {
    /// Room for `count` masses, all of them zero.
    pub(crate) fn resize(&mut self, count: usize) {
        let fours = count.div_ceil(4);
        self.masses.clear();
        self.masses.resize(fours, [0.0; 4]);
        self.within.clear();
        self.within.resize(fours, [0.0; 4]);
        self.before.clear();
        self.before.resize(fours + 1, 0.0);
    }

    /// Changes one mass. The total follows when [`total_up`](BlockedPrefix::total_up) is called.
    #[inline(always)]
    pub(crate) fn set(&mut self, index: usize, mass: f64) {
        let four = index / 4;
        self.masses[four][index % 4] = mass;
        let [a, b, c, _] = self.masses[four];
        self.within[four] = [0.0, a, a + b, (a + b) + c];
    }

    /// BlockedPrefix up the fours from that of mass `index` on; where there are few, all of them, so that
    /// the number is always the same.
    #[inline(always)]
    pub(crate) fn total_up(&mut self, index: usize) {
        let first = if self.masses.len() <= FEW { 0 } else { index / 4 };
        let mut sum = self.before[first];
        for four in first..self.masses.len() {
            sum += self.within[four][3] + self.masses[four][3];
            self.before[four + 1] = sum;
        }
    }

    /// All masses before one.
    #[inline(always)]
    pub(crate) fn before(&self, index: usize) -> f64 {
        self.before[index / 4] + self.within[index / 4][index % 4]
    }

    /// The mass that lies at `left` where all lie one after the other, and how far into it.
    /// Rounding may lead to one that is zero, though hardly ever.
    #[inline(always)]
    pub(crate) fn at(&self, left: f64) -> (usize, f64) {
        let mut four = 0;
        for &sum in &self.before[1..self.masses.len()] {
            four += usize::from(sum <= left);
        }
        let (left, within) = (left - self.before[four], &self.within[four]);
        let lane = usize::from(within[1] <= left)
            + usize::from(within[2] <= left)
            + usize::from(within[3] <= left);
        (4 * four + lane, left - within[lane & 3])
    }
}
