//! Random number streams.
//!
//! Every chain has its own stream, determined by the seed and the index of the chain, so that draws
//! do not depend on the number of threads. The state of a stream can be stored and restored
//! exactly.

use rand::{Rng as _, SeedableRng};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The generator used throughout.
pub type Rng = rand::rngs::ChaCha8Rng;

/// The generator of stream number `stream` under `seed`. Different streams are independent.
///
/// ```
/// use rand::RngExt;
/// let (mut a, mut b) = (soma::rng::stream(1, 0), soma::rng::stream(1, 0));
/// assert_eq!(a.random::<u64>(), b.random::<u64>());
/// ```
pub fn stream(seed: u64, stream: u64) -> Rng {
    let mut rng = Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// A copy of a generator in the same state.
pub fn copy(rng: &Rng) -> Rng {
    at(rng.get_seed(), rng.get_stream(), rng.get_word_pos())
}

/// A stream of its own for the present state of a generator, which stays as it is: its key is what the
/// generator would give next.
pub fn apart(rng: &Rng) -> Rng {
    let mut key = [0; 32];
    copy(rng).fill_bytes(&mut key);
    Rng::from_seed(key)
}

fn at(seed: [u8; 32], stream: u64, position: u128) -> Rng {
    let mut rng = Rng::from_seed(seed);
    rng.set_stream(stream);
    rng.set_word_pos(position);
    rng
}

/// A uniform number in [0, 1), the same as `rng.random()`: for inner loops, into which that may not
/// be inlined.
#[inline(always)]
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Writes the state of a generator, for `#[serde(with = "soma::rng")]`.
pub fn serialize<S: Serializer>(rng: &Rng, serializer: S) -> Result<S::Ok, S::Error> {
    (rng.get_seed(), rng.get_stream(), rng.get_word_pos()).serialize(serializer)
}

/// Reads the state of a generator, for `#[serde(with = "soma::rng")]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rng, D::Error> {
    let (seed, stream, position) = <([u8; 32], u64, u128)>::deserialize(deserializer)?;
    Ok(at(seed, stream, position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn uniforms_are_those_of_rand() {
        let (mut ours, mut theirs) = (stream(1, 2), stream(1, 2));
        for _ in 0..100 {
            assert_eq!(uniform(&mut ours), theirs.random::<f64>());
        }
    }

    /// The stream is part of the meaning of a seed: a change must be noticed.
    #[test]
    fn stream_is_pinned() {
        let mut rng = stream(1, 2);
        let first: [u64; 3] = [rng.random(), rng.random(), rng.random()];
        let mut again = stream(1, 2);
        let second: [u64; 3] = [again.random(), again.random(), again.random()];
        assert_eq!(first, second);
        assert_ne!(first[0], stream(1, 3).random::<u64>());
        assert_ne!(first[0], stream(2, 2).random::<u64>());
    }
}
