//! Prefetching.

/// Prefetches a row of `k` numbers.
#[inline(always)]
pub(crate) fn prefetch_row(row: *const f64, k: usize) {
    prefetch(row);
    prefetch(row.wrapping_add(k - 1));
}

/// Prefetches the cache line of an address.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch does not access memory, so any address is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
