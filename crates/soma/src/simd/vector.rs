//! The vector operations of the inner loops: in portable Rust and with intrinsics. Both make the
//! same operations in the same order, so that results agree bit for bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use super::cost::Cost;

// Only `specialise` may name this type, and only with the token of a CPU with AVX2.
#[cfg(target_arch = "x86_64")]
pub(in crate::simd) use avx2::Avx2;
pub use portable::Portable;

/// Cells and records per vector step.
pub const LANES: usize = 16;

/// Four numbers at a time, and sixteen cells at a time.
pub trait Vector: Copy + 'static {
    /// Four numbers.
    type Four: Copy;

    /// Loads the first four of a slice.
    fn load(from: &[f64]) -> Self::Four;

    /// Loads the first four of a slice in single precision.
    fn load_narrow(from: &[f32]) -> Self::Four;

    /// Stores to the first four places of a slice.
    fn store(to: &mut [f64], value: Self::Four);

    /// Stores to the first four places of a slice, rounded to single precision.
    fn narrow(to: &mut [f32], value: Self::Four);

    /// Loads the first four of a slice, or all of it padded with zeros.
    fn load_some(from: &[f64]) -> Self::Four;

    /// Stores to the first four places of a slice, or to as many as it has.
    fn store_some(to: &mut [f64], value: Self::Four);

    /// Stores eight numbers to the first eight places of a slice, rounded to single precision.
    fn narrow_both(to: &mut [f32], value: [Self::Four; 2]);

    /// Stores four numbers from 0 to 65,535 to the first four places of a slice, rounded down.
    fn whole(to: &mut [u16], value: Self::Four);

    /// Sets one of the first eight places of a slice by a store of all eight, so that a later load
    /// of the eight is forwarded from the store.
    fn put(to: &mut [f32], lane: usize, value: f32);

    /// Stores four numbers of magnitude below 32,767 to the first four places of a slice, rounded
    /// to integers.
    fn steps(to: &mut [i16], value: Self::Four);

    /// Rounds eight rows of four numbers as [`steps`](Vector::steps) does, and stores the first
    /// `count` columns to the first eight of each LANES places of a slice.
    fn turn_steps(to: &mut [i16], count: usize, rows: [Self::Four; 8]);

    /// Sets one of the first sixteen places of a slice by a store of all.
    fn put_step(to: &mut [i16], lane: usize, value: i16);

    /// Sums.
    fn add(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Differences.
    fn sub(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Products.
    fn mul(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Quotients.
    fn div(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The smaller of each two; `b` if one is NaN.
    fn min(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The larger of each two; `b` if one is NaN.
    fn max(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The bitmask of lanes j with a_j < b_j.
    fn below(a: Self::Four, b: Self::Four) -> u32;

    /// The costs of residuals.
    fn cost<S: Cost>(residuals: Self::Four) -> Self::Four;

    /// The horizontal sum: (first + third) + (second + fourth).
    fn total(a: Self::Four) -> f64;

    /// [`total`](Vector::total) of each of four.
    fn totals(of: [Self::Four; 4]) -> Self::Four;

    /// A vector of four numbers.
    fn join(of: [f64; 4]) -> Self::Four;

    /// [`exp_above`](super::exp::exp_above) of each of four.
    fn exp_above(of: Self::Four) -> Self::Four;

    /// For each point, the number of `sums` (all below 2^31) that are at most the point minus one
    /// of eight starts: sum j uses start j modulo 8.
    fn count_up_to<const N: usize>(sums: &[u32], starts: &[u32; 8], points: [u32; N])
    -> [usize; N];

    /// Finds four points on the cumulative masses, given by `words` as fractions of 2^64 of the
    /// total (below 2^31): the index of the mass at each point, and the position within it, to
    /// 2^-31. `sums` are eight zeros and then, in rows of eight, the cumulative masses of each
    /// column; the number of rows is a power of 2. In the total order the columns follow one
    /// another.
    fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], Self::Four);

    /// The masses of single records; see [`Points`].
    fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4];

    /// The quantised masses of single records; see [`Stepping`].
    fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16);

    /// The masses of cells; see [`Weighing`].
    fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32);
}

/// Eight columns of cumulative masses in the total order: the start of each, and the end of the
/// last. One struct of the width of a store: a load that spans two stores defeats store forwarding.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spans {
    /// The starts of the columns.
    pub starts: [u32; 8],
    /// The total mass.
    pub total: u32,
}

/// The arguments of the masses of cells. All lengths are multiples of [`LANES`]; the boxes are
/// LANES cells side by side, in the order of [`lane`], coordinate by coordinate. Returns the spans
/// of eight columns of masses (cell j is in column j modulo 8), and the sum of (mass - 1) `shrink`,
/// each rounded down.
pub struct Weighing<'a> {
    /// One step below the lower edges of the boxes, in steps.
    pub low: &'a [u16],
    /// The upper edges.
    pub high: &'a [u16],
    /// The statistic of the replaced record that minimises the cost, rounded down, by coordinate.
    pub aim: &'a [u16],
    /// The cost common to all cells because the target is outside all boxes, by coordinate.
    pub paid: &'a [u16],
    /// The bits of a weight of 1 as a float with 7 bits of mantissa; costs are subtracted from it.
    pub ones: u16,
    /// The numbers of members, in the unit of the masses.
    pub counts: &'a [f32],
    /// The factors of the second sum.
    pub shrink: &'a [f32],
    /// Receives the cumulative masses of each column; a mass is the bound of the weights times the
    /// number of members, rounded up.
    pub sums: &'a mut [u32],
}

/// The lane of cell j within LANES, chosen so that the lower halves of two vectors of eight 16-bit
/// numbers form a vector of 32-bit numbers, and the upper halves another. It is its own inverse.
#[inline(always)]
pub const fn lane(j: usize) -> usize {
    (j & !12) | (j >> 1 & 4) | (j << 1 & 8)
}

/// The arguments of bounds of the weights of single records. All lengths are multiples of
/// [`LANES`]; the records are LANES side by side, coordinate by coordinate. Returns four partial
/// sums of the masses: record j belongs to part j modulo 4.
pub struct Points<'a> {
    /// The statistics.
    pub columns: &'a [f32],
    /// Added to the statistics, by coordinate, to give their distances from the target.
    pub apart: &'a [f32],
    /// The distance common to all records in each coordinate, with its sign.
    pub beyond: &'a [f32],
    /// Costs are subtracted from this; the difference, an integer, is the bits of the mass.
    pub unit: f32,
    /// Receives the masses.
    pub masses: &'a mut [f32],
    /// Receives the cumulative sums of each part.
    pub sums: &'a mut [f64],
}

/// The arguments of quantised bounds of the weights of single records. All lengths are multiples of
/// [`LANES`]; the records are LANES side by side, coordinate by coordinate.
///
/// The cost of a record is the sum of its distances, in steps of 1/256 of a factor 2 of the weight.
/// Returns the cumulative sums of the eight columns of masses, and the smallest cost.
pub struct Stepping<'a> {
    /// The statistics.
    pub columns: &'a [i16],
    /// Added to the statistics, by coordinate, to give their distances from the target.
    pub aim: &'a [i16],
    /// The initial costs of the records: the largest value for padding.
    pub none: &'a [u16],
    /// Costs are subtracted from this; the difference is the bits of the mass as a float with 8
    /// bits of mantissa, rounded up.
    pub ones: u16,
    /// Receives the cumulative masses in rows of eight: first records 0 to 3 and 8 to 11 of LANES,
    /// then the others.
    pub sums: &'a mut [u32],
}

/// The bits of 1 as a float with 8 bits of mantissa.
pub const STEPS_OF_ONE: f64 = 32_512.0;

/// A cost of 1 in units of the last bit of a float.
pub const BITS: f32 = 12_102_203.0;
/// The bits of 1 as a float.
pub const ONE_BITS: f32 = 1_065_353_216.0;
/// The bits of the smallest and the largest mass: 2^-126 and 2^126.
pub const MASS_BITS: [f32; 2] = [8_388_608.0, 2_122_317_824.0];

/// The bits of 1 as a 16-bit float with 7 bits of mantissa.
pub const ONE: u16 = 127 << 7;
/// The bits of the smallest value, 2^-126.
pub const SMALLEST: u16 = 1 << 7;
