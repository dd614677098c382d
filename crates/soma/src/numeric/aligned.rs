//! Arrays that are aligned to cache lines.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// An array aligned to 64 bytes: loads that cross a cache line defeat store forwarding, and what one
/// move writes the next one reads.
#[derive(Debug, Clone)]
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    of: PhantomData<T>,
}

#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
struct Line([u64; 8]);

/// A number of at most eight bytes.
///
/// # Safety
/// Any bits are one, and nothing but a number is in them.
pub(crate) unsafe trait Number: Copy {}

// SAFETY of all: so it is of all numbers of the language.
unsafe impl Number for f64 {}
unsafe impl Number for f32 {}
unsafe impl Number for u32 {}
unsafe impl Number for u16 {}
unsafe impl Number for i16 {}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned { lines: Vec::new(), len: 0, of: PhantomData }
    }
}

impl<T: Number + PartialEq> PartialEq for Aligned<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Number> Aligned<T> {
    /// The same numbers.
    pub(crate) fn copy_of(numbers: &[T]) -> Self {
        let mut all = Aligned::default();
        if let Some(first) = numbers.first() {
            all.fill_with(numbers.len(), *first);
            all.copy_from_slice(numbers);
        }
        all
    }

    /// Becomes `len` times `value`.
    pub(crate) fn fill_with(&mut self, len: usize, value: T) {
        self.lines.resize((len * size_of::<T>()).div_ceil(size_of::<Line>()), Line([0; 8]));
        self.len = len;
        self.fill(value);
    }
}

impl<T: Number> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: there are lines for `len` numbers, and any bits are one.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Number> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
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
