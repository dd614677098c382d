//! What the checks of stored states share.
//!
//! A checkpoint comes from a disk, and a checksum says only that it is as somebody wrote it. Kernels
//! index by what is in their state, in places without a bound check, and loop as often as it says.
//! So each part of a state validates what it relies on, in its `check`, before a chain is made of it.

/// What is wrong with a stored state, in words.
pub(crate) type Check = Result<(), String>;

/// Counts are sums of fewer than 2^48 iterations' worth; from here on adding to them could
/// overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 60;

/// An error with these words, unless `holds`.
pub(crate) fn ensure(holds: bool, problem: &str) -> Check {
    if holds { Ok(()) } else { Err(problem.to_string()) }
}

/// Whether all of these are finite and there are so many of them.
pub(crate) fn finite(name: &str, length: usize, values: &[f64]) -> Check {
    let fits = values.len() == length && values.iter().all(|x| x.is_finite());
    ensure(fits, &format!("{name} is not made of {length} finite numbers"))
}
