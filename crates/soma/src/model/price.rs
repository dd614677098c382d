//! The cost of a model's operations, as constants and not as timings.

/// The cost of a model's operations for each of n records, in units of about ten nanoseconds.
///
/// Warm-up chooses the kernel and the theta updates by counted work, so that the same seed gives
/// the same draws on every machine; these are the costs of the model's part. An error of a factor
/// of two costs some speed and nothing else. `cargo run --release -p soma-mcmc --example prices`
/// prints them beside measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// A record drawn by [`propose`](super::Model::propose).
    pub draw: f64,
    /// The cost per record of an [`update`](super::Model::update) of theta.
    pub update: f64,
    /// A record built from its noise by [`forward`](super::Transport::forward), or mapped from
    /// another theta.
    pub build: f64,
    /// The noise of a record computed by [`inverse`](super::Transport::inverse).
    pub inverse: f64,
}

impl Price {
    /// A record of a few normal numbers and an exact update.
    pub const PLAIN: Price = Price { draw: 1.5, update: 0.2, build: 0.2, inverse: 0.2 };

    /// A model with a fixed cost per call and a cost `each` per record.
    pub fn by_call(call: f64, each: f64, n: usize) -> Price {
        let price = each + call / n as f64;
        Price { draw: price, update: price, build: price, inverse: price }
    }
}
