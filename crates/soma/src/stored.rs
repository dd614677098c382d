//! Validation of stored states.
//!
//! A checkpoint comes from disk, and a checksum proves only that it is as written. Kernels index by
//! their state, in places without bound checks, and loop as often as it says. So each part of a
//! state validates what it relies on, in its `check`, before a chain is restored.

/// The result of a validation; the error says what is wrong.
pub(crate) type Check = Result<(), String>;

/// Counts are sums over fewer than 2^48 iterations; from here on they could overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 60;

/// An error with the message `problem`, unless `holds`.
pub(crate) fn ensure(holds: bool, problem: &str) -> Check {
    if holds { Ok(()) } else { Err(problem.to_string()) }
}

/// Whether there are `length` values, all finite.
pub(crate) fn finite(name: &str, length: usize, values: &[f64]) -> Check {
    let fits = values.len() == length && values.iter().all(|x| x.is_finite());
    ensure(fits, &format!("{name} is not made of {length} finite numbers"))
}
