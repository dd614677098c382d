//! Arrays aligned to cache lines.

use std::ops::{Deref, DerefMut};

use aligned_vec::{AVec, ConstAlign};

/// An array aligned to 64 bytes: loads that cross a cache line defeat store forwarding, and each
/// move reads what the previous one wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aligned<T>(AVec<T, ConstAlign<64>>);

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned(AVec::new(64))
    }
}

impl<T: Copy> Aligned<T> {
    /// A copy of `numbers`.
    pub(crate) fn copy_of(numbers: &[T]) -> Self {
        Aligned(AVec::from_slice(64, numbers))
    }

    /// Sets the array to `len` copies of `value`.
    pub(crate) fn fill_with(&mut self, len: usize, value: T) {
        self.0.clear();
        self.0.resize(len, value);
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_where_a_line_does() {
        for len in [0, 1, 8, 9, 30] {
            let numbers: Vec<f64> = (0..len).map(f64::from).collect();
            let mut all = Aligned::copy_of(&numbers);
            assert_eq!((&*all, all.as_ptr() as usize % 64), (&numbers[..], 0));
            all.fill_with(11, 0.5);
            assert_eq!(*all, [0.5; 11]);
        }
        let mut all = Aligned::copy_of(&[1u16, 2, 3]);
        assert_eq!(*all, [1, 2, 3]);
        all.fill_with(65, 7);
        assert_eq!((*all).iter().map(|&x| u32::from(x)).sum::<u32>(), 65 * 7);
    }
}
