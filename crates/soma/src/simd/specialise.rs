//! One source, compiled for each cost, for the common lengths of a statistic, and
//! for the vector instructions of the machine at hand.

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::{Simd, WithSimd};

use super::cost::Cost;
#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::vector::{Portable, Vector};

/// Work that is worth being compiled for each case. `K` is the length of a statistic, or 0 where
/// it is none of the common ones.
///
/// `run` and whatever it calls in its inner loops must be `#[inline(always)]`: only then are they
/// compiled for the vector instructions too.
pub(crate) trait Work {
    /// What comes of it.
    type Output;

    /// Does the work.
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Self::Output;
}

/// Work that is done with vector instructions.
#[cfg(target_arch = "x86_64")]
struct Case<W, S, const K: usize>(W, std::marker::PhantomData<S>);

#[cfg(target_arch = "x86_64")]
impl<W: Work, S: Cost, const K: usize> WithSimd for Case<W, S, K> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<M: Simd>(self, _: M) -> W::Output {
        self.0.run::<S, Avx2, K>()
    }
}

/// Does `work` for the cost S and statistics of length `k`, on the machine `arch`.
///
/// The operations and their order are the same in every case, so that the results are too.
pub(crate) fn specialised<W: Work, S: Cost>(work: W, k: usize, arch: Arch) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V3(machine) = arch {
        return match k {
            1 => Simd::vectorize(machine, Case::<W, S, 1>(work, std::marker::PhantomData)),
            3 => Simd::vectorize(machine, Case::<W, S, 3>(work, std::marker::PhantomData)),
            9 => Simd::vectorize(machine, Case::<W, S, 9>(work, std::marker::PhantomData)),
            _ => Simd::vectorize(machine, Case::<W, S, 0>(work, std::marker::PhantomData)),
        };
    }
    let _ = (k, arch);
    work.run::<S, Portable, 0>()
}

/// The same with only one length known to the compiler, 9, for work of which there is much to
/// compile.
pub(crate) fn specialised_little<W: Work, S: Cost>(work: W, k: usize, arch: Arch) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V3(machine) = arch {
        return match k {
            9 => Simd::vectorize(machine, Case::<W, S, 9>(work, std::marker::PhantomData)),
            _ => Simd::vectorize(machine, Case::<W, S, 0>(work, std::marker::PhantomData)),
        };
    }
    let _ = (k, arch);
    work.run::<S, Portable, 0>()
}
