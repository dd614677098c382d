//! One source, compiled for each cost, for the common lengths of a statistic, and for the vector
//! instructions of the CPU.

#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::{NullaryFnOnce, x86::V3};

use super::cost::Cost;
#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::vector::{Portable, Vector};

/// Work that is specialised. `K` is the length of a statistic, or 0 if it is not a common one.
///
/// `run` and all that it calls in its inner loops must be `#[inline(always)]`: only then are they
/// compiled for the vector instructions.
pub(crate) trait Work {
    /// The result.
    type Output;

    /// Does the work.
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Self::Output;
}

/// Work with the instructions that the token proves available.
#[cfg(target_arch = "x86_64")]
struct Case<W, S, const K: usize> {
    work: W,
    _machine: V3,
    cost: PhantomData<S>,
}

#[cfg(target_arch = "x86_64")]
impl<W: Work, S: Cost, const K: usize> NullaryFnOnce for Case<W, S, K> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        // The token proves AVX2: no code outside `simd` can name the type.
        self.work.run::<S, Avx2, K>()
    }
}

/// Runs `work` with the instructions of `machine`.
#[cfg(target_arch = "x86_64")]
fn with_avx2<W: Work, S: Cost, const K: usize>(machine: V3, work: W) -> W::Output {
    machine.vectorize(Case::<W, S, K> { work, _machine: machine, cost: PhantomData })
}

/// Runs `work` for the cost S and statistics of length `k`, on `arch`.
///
/// The operations and their order are the same in every case, and so are the results.
pub(crate) fn specialised<W: Work, S: Cost>(work: W, k: usize, arch: Arch) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V3(machine) = arch {
        return match k {
            1 => with_avx2::<W, S, 1>(machine, work),
            3 => with_avx2::<W, S, 3>(machine, work),
            9 => with_avx2::<W, S, 9>(machine, work),
            _ => with_avx2::<W, S, 0>(machine, work),
        };
    }
    // NEON is part of every aarch64: the compiler uses it for the portable vectors.
    #[cfg(target_arch = "aarch64")]
    match k {
        1 => return work.run::<S, Portable, 1>(),
        3 => return work.run::<S, Portable, 3>(),
        9 => return work.run::<S, Portable, 9>(),
        _ => {}
    }
    let _ = (k, arch);
    work.run::<S, Portable, 0>()
}

/// The same with one specialised length, 9, to limit code size.
pub(crate) fn specialised_little<W: Work, S: Cost>(work: W, k: usize, arch: Arch) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V3(machine) = arch {
        return match k {
            9 => with_avx2::<W, S, 9>(machine, work),
            _ => with_avx2::<W, S, 0>(machine, work),
        };
    }
    #[cfg(target_arch = "aarch64")]
    if k == 9 {
        return work.run::<S, Portable, 9>();
    }
    let _ = (k, arch);
    work.run::<S, Portable, 0>()
}
