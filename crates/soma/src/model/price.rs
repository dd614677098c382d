//! What the parts of a model cost, stated and not clocked.

/// What the parts of a model take for each of n records, in units of about ten nanoseconds.
///
/// The choice of kernel and of moves in warm-up goes by work that is counted, so that the same seed
/// gives the same draws on any machine; these are the prices of the model's share in it. A price
/// that is off by a factor of two costs some speed and nothing else.
/// `cargo run --release -p soma-mcmc --example prices` prints them beside what it measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// A record drawn by [`propose`](super::Model::propose).
    pub draw: f64,
    /// The share of one record in an [`update`](super::Model::update) of theta.
    pub update: f64,
    /// A record built from its noise by [`forward`](super::Transport::forward), or carried from
    /// another theta.
    pub build: f64,
    /// The noise of a record found by [`inverse`](super::Transport::inverse).
    pub inverse: f64,
}

impl Price {
    /// A record of a few normal numbers and an exact update.
    pub const PLAIN: Price = Price { draw: 1.5, update: 0.2, build: 0.2, inverse: 0.2 };

    /// A model whose every call takes so many units, and each record of a call `each`.
    pub fn by_call(call: f64, each: f64, n: usize) -> Price {
        let price = each + call / n as f64;
        Price { draw: price, update: price, build: price, inverse: price }
    }
}
