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

/// Cells are looked at so many at a time, and their masses are summed in so many parts.
pub const LANES: usize = 16;

/// Four numbers at a time, and sixteen cells at a time.
pub trait Vector: Copy + 'static {
    /// Four numbers.
    type Four: Copy;

    /// The first four of a slice.
    fn load(from: &[f64]) -> Self::Four;

    /// Puts four numbers into the first four places of a slice.
    fn store(to: &mut [f64], value: Self::Four);

    /// Sums.
    fn add(a: Self::Four, b: Self::Four) -> Self::Four;

    /// Differences.
    fn sub(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The smaller of each two; `b` where one is NaN.
    fn min(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The larger of each two; `b` where one is NaN.
    fn max(a: Self::Four, b: Self::Four) -> Self::Four;

    /// The costs of residuals.
    fn cost<S: Falloff>(residuals: Self::Four) -> Self::Four;

    /// All four together: the first and third, plus the second and fourth.
    fn total(a: Self::Four) -> f64;

    /// The masses of cells; see [`Weighing`].
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> Sums;
}

/// What the masses of cells are computed from. All lengths are multiples of [`LANES`]; the boxes
/// stand LANES cells side by side, coordinate after coordinate.
pub struct Weighing<'a> {
    /// The lower edges of the boxes, in steps.
    pub low: &'a [u16],
    /// The upper edges.
    pub high: &'a [u16],
    /// Just below where the statistic of the replaced record should be, by coordinate.
    pub aim: &'a [u16],
    /// What all pay alike for its being outside all boxes, by coordinate.
    pub paid: &'a [u16],
    /// The numbers of members.
    pub counts: &'a [f32],
    /// What makes a lower bound of a mass.
    pub shrink: &'a [f32],
    /// Where the masses go.
    pub masses: &'a mut [f32],
}

/// Sums of masses, in parts: cell j belongs to part j modulo [`LANES`].
pub struct Sums {
    /// The sums of the masses.
    pub parts: [f64; LANES],
    /// The sums of the masses times what makes lower bounds of them.
    pub surely: [f32; LANES],
}

/// The bits of 1 as a 16-bit float with 7 bits of mantissa.
pub const ONE: u16 = 127 << 7;
/// The bits of the smallest one that is used, 2^-126.
pub const SMALLEST: u16 = 1 << 7;
/// Added to the bits of a mass for rounding.
pub const SLACK: u32 = 16;
