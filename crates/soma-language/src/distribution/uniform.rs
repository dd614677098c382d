//! uniform(low, high): density 1 / (high - low) between them.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Fact, Source, Term};

pub(super) struct Uniform;

impl Univariate for Uniform {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("low", Domain::Real), scalar("high", Domain::Real)] }
    }

    fn problem(&self, args: &[Fact]) -> Option<(String, String)> {
        let [low, high] = [args[0], args[1]];
        (low.low >= high.high).then(|| {
            let message = format!(
                "`uniform` from {} to {}: the lower end is not below the upper one",
                low.low, high.high
            );
            (message, "write `uniform(low, high)` with low < high".into())
        })
    }

    fn holds_ends(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0]), high: Some(args[1]) }
    }

    fn log_density<'g>(&self, _: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -(args[1] - args[0]).log()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] + (args[1] - args[0]) * source.uniform()
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] + (args[1] - args[0]) * noise.normal_cdf()
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[0]) / (args[1] - args[0])).normal_quantile()
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (x - args[0]) / (args[1] - args[0])
    }
}
