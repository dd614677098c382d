//! The few operations on vectors that the inner loops are made of: in plain Rust, which runs
//! anywhere, and in the instructions of the machine. Both do the same operations in the same
//! order, so that results agree bit for bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use super::cost::Cost;

// Only `specialise` may name this type, and only where it holds the token of a machine with AVX2.
#[cfg(target_arch = "x86_64")]
pub(in crate::simd) use avx2::Avx2;
pub use portable::Portable;

/// Cells and records are looked at so many at a time.
pub const LANES: usize = 16;

/// Four numbers at a time, and sixteen cells at a time.
pub trait Vector: Copy + 'static {
    /// Four numbers.
    type Four: Copy;

    /// The first four of a slice.
    fn load(from: &[f64]) -> Self::Four;

    /// The first four of a slice in single precision.
    fn load_narrow(from: &[f32]) -> Self::Four;

    /// Puts four numbers into the first four places of a slice.
    fn store(to: &mut [f64], value: Self::Four);

    /// Puts four numbers, rounded to single precision, into the first four places of a slice.
    fn narrow(to: &mut [f32], value: Self::Four);

    /// The first four of a slice, or all of it and zeros.
    fn load_some(from: &[f64]) -> Self::Four;

    /// Puts four numbers into the first four places of a slice, or as many as it has.
    fn store_some(to: &mut [f64], value: Self::Four);

    /// Puts eight numbers, rounded to single precision, into the first eight places of a slice.
    fn narrow_both(to: &mut [f32], value: [Self::Four; 2]);

    /// Puts four numbers from 0 to 65,535, rounded down, into the first four places of a slice.
    fn whole(to: &mut [u16], value: Self::Four);

    /// Puts a number into one of the first eight places of a slice, by writing all eight: a load of
    /// the eight that follows need not wait for the write to reach the cache.
    fn put(to: &mut [f32], lane: usize, value: f32);

    /// Puts four numbers below 32,767, with a sign, rounded to whole ones, into the first four
    /// places of a slice.
    fn steps(to: &mut [i16], value: Self::Four);

    /// Rounds eight rows of four numbers as [`steps`](Vector::steps) does, and puts the first `count`
    /// columns into the first eight of each LANES places of a slice.
    fn turn_steps(to: &mut [i16], count: usize, rows: [Self::Four; 8]);

    /// Puts a number into one of the first sixteen places of a slice, by writing all.
    fn put_step(to: &mut [i16], lane: usize, value: i16);

    /// Sums.
    fn add(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Differences.
    fn sub(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Products.
    fn mul(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Quotients.
    fn div(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The smaller of each two; `b` where one is NaN.
    fn min(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The larger of each two; `b` where one is NaN.
    fn max(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Which numbers of `a` are below those of `b`: bit j is set where this is so of number j.
    fn below(a: Self::Four, b: Self::Four) -> u32;

    /// The costs of residuals.
    fn cost<S: Cost>(residuals: Self::Four) -> Self::Four;

    /// All four together: the first and third, plus the second and fourth.
    fn total(a: Self::Four) -> f64;

    /// [`total`](Vector::total) of each of four.
    fn totals(of: [Self::Four; 4]) -> Self::Four;

    /// Four numbers, given one by one.
    fn join(of: [f64; 4]) -> Self::Four;

    /// [`exp_above`](super::exp::exp_above) of each of four.
    fn exp_above(of: Self::Four) -> Self::Four;

    /// How many of `sums`, below 2^31 as all numbers here, are not above what is left of each point
    /// past one of eight starts: sum j past start j modulo 8.
    fn count_up_to<const N: usize>(sums: &[u32], starts: &[u32; 8], points: [u32; N])
    -> [usize; N];

    /// Four points on a line of masses, given by `words` as parts in 2^64 of all masses together (below
    /// 2^31): which masses they fall to, and how far into them, to 2^-31. `sums` are eight zeros
    /// and then the masses, each with those before it in its column of eight, of which there is a
    /// power of 2; the columns stand one after the other.
    fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], Self::Four);

    /// The masses of single records; see [`Points`].
    fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4];

    /// The masses of single records in whole numbers; see [`Stepping`].
    fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16);

    /// The masses of cells; see [`Weighing`].
    fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32);
}

/// Eight columns of masses, one after the other on a line: where each begins, and where the last ends.
/// What is written together is read together, since a read across two writes has to wait for both to
/// reach the cache.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spans {
    /// Where they begin.
    pub starts: [u32; 8],
    /// All masses together.
    pub total: u32,
}

/// What the masses of cells are computed from. All lengths are multiples of [`LANES`]; the boxes
/// stand LANES cells side by side, in the order of [`lane`], coordinate after coordinate. Returned
/// are where eight columns of masses stand (cell j is in column j modulo 8), and the sum of all masses
/// less one, each multiplied by its `shrink` and rounded down.
pub struct Weighing<'a> {
    /// One step below the lower edges of the boxes, in steps.
    pub low: &'a [u16],
    /// The upper edges.
    pub high: &'a [u16],
    /// Where the statistic of the replaced record should be, rounded down, by coordinate.
    pub aim: &'a [u16],
    /// What all pay alike for its being outside all boxes, by coordinate.
    pub paid: &'a [u16],
    /// The bits of a weight of 1, of which costs are taken, as a float with 7 bits of mantissa.
    pub ones: u16,
    /// The numbers of members, in the unit of the masses.
    pub counts: &'a [f32],
    /// Which part of a mass counts in the second sum.
    pub shrink: &'a [f32],
    /// Where the masses go, bounds of weights times numbers of members and rounded up: each with
    /// those before it in the same column.
    pub sums: &'a mut [u32],
}

/// Where in LANES cell j has its box: so the lower halves of two vectors of eight 16-bit numbers make
/// up a vector of 32-bit numbers, and the upper halves another. It is its own inverse.
#[inline(always)]
pub const fn lane(j: usize) -> usize {
    (j & !12) | (j >> 1 & 4) | (j << 1 & 8)
}

/// What bounds of the weights of single records are computed from. All lengths are multiples of
/// [`LANES`]; the records stand LANES side by side, coordinate after coordinate. Returned are the
/// sums of the masses in four parts: record j belongs to part j modulo 4.
pub struct Points<'a> {
    /// The statistics.
    pub columns: &'a [f32],
    /// What is added to them, by coordinate, to make distances from where they should be.
    pub apart: &'a [f32],
    /// What all pay alike in each coordinate, with its sign.
    pub beyond: &'a [f32],
    /// Costs are subtracted from this, and the difference, a whole number, is the bits of the mass.
    pub unit: f32,
    /// Where the masses go.
    pub masses: &'a mut [f32],
    /// Where the sums of the masses go: of each and those before it in the same part.
    pub sums: &'a mut [f64],
}

/// What bounds of the weights of single records are computed from in whole numbers. All lengths are
/// multiples of [`LANES`]; the records stand LANES side by side, coordinate after coordinate.
///
/// A record costs the sum of its distances, in steps of 1/256 of a factor 2 of the weight. Returned
/// are the sums of the eight columns of masses, each with those before it, and the least cost.
pub struct Stepping<'a> {
    /// The statistics.
    pub columns: &'a [i16],
    /// What is added to them, by coordinate, to make distances from where they should be.
    pub aim: &'a [i16],
    /// What the records cost already: the most that there is where there is no record.
    pub none: &'a [u16],
    /// Costs are subtracted from this, and the difference is the bits of the mass as a float with 8
    /// bits of mantissa, which is rounded up.
    pub ones: u16,
    /// Where the masses go, in rows of eight, each with those above it: first 0 to 3 and 8 to 11 of
    /// LANES records, then the others.
    pub sums: &'a mut [u32],
}

/// The bits of 1 as a float with 8 bits of mantissa.
pub const STEPS_OF_ONE: f64 = 32_512.0;

/// What a cost of 1 is in the last bits of a float.
pub const BITS: f32 = 12_102_203.0;
/// The bits of 1 as a float.
pub const ONE_BITS: f32 = 1_065_353_216.0;
/// The bits of the smallest and the largest mass that are used: 2^-126 and 2^126.
pub const MASS_BITS: [f32; 2] = [8_388_608.0, 2_122_317_824.0];

/// The bits of 1 as a 16-bit float with 7 bits of mantissa.
pub const ONE: u16 = 127 << 7;
/// The bits of the smallest one that is used, 2^-126.
pub const SMALLEST: u16 = 1 << 7;
