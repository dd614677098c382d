//! The few operations on vectors that the inner loops are made of: in plain Rust, which runs
//! anywhere, and in the instructions of the machine. Both do the same operations in the same
//! order, so that results agree bit for bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use super::shape::Falloff;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
pub use portable::Portable;

/// Cells and records are looked at so many at a time.
pub const LANES: usize = 16;

/// Four numbers at a time, and sixteen cells at a time.
pub trait Vector: Copy + 'static {
    /// Four numbers.
    type Four: Copy;

    /// The first four of a slice.
    fn load(from: &[f64]) -> Self::Four;

    /// Puts four numbers into the first four places of a slice.
    fn store(to: &mut [f64], value: Self::Four);

    /// Puts four numbers, rounded to single precision, into the first four places of a slice.
    fn narrow(to: &mut [f32], value: Self::Four);

    /// Puts four numbers from 0 to 65,535, rounded down, into the first four places of a slice.
    fn whole(to: &mut [u16], value: Self::Four);

    /// Puts a number into one of the first eight places of a slice, by writing all eight: a load of
    /// the eight that follows need not wait for the write to reach the cache.
    fn put(to: &mut [f32], lane: usize, value: f32);

    /// Sums.
    fn add(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Differences.
    fn sub(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Products.
    fn mul(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The smaller of each two; `b` where one is NaN.
    fn min(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The larger of each two; `b` where one is NaN.
    fn max(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The costs of residuals.
    fn cost<S: Falloff>(residuals: Self::Four) -> Self::Four;

    /// All four together: the first and third, plus the second and fourth.
    fn total(a: Self::Four) -> f64;

    /// The masses of single records; see [`Points`].
    fn weigh_points<S: Falloff, const K: usize>(points: Points) -> [f64; 4];

    /// The masses of cells; see [`Weighing`].
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> [f64; 4];
}

/// What the masses of cells are computed from. All lengths are multiples of [`LANES`]; the boxes
/// stand LANES cells side by side, coordinate after coordinate. Returned are the sums of the masses
/// in four parts: cell j belongs to part j modulo 4.
pub struct Weighing<'a> {
    /// One step below the lower edges of the boxes, in steps.
    pub low: &'a [u16],
    /// The upper edges.
    pub high: &'a [u16],
    /// Where the statistic of the replaced record should be, rounded down, by coordinate.
    pub aim: &'a [u16],
    /// What all pay alike for its being outside all boxes, by coordinate.
    pub paid: &'a [u16],
    /// The numbers of members.
    pub counts: &'a [f32],
    /// Where the masses go.
    pub masses: &'a mut [f32],
    /// Where the sums of the masses go: of each and those before it in the same part.
    pub sums: &'a mut [f64],
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
/// Added to the bits of a mass for rounding.
pub const SLACK: u32 = 16;
