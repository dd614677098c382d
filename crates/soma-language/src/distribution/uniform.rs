//! uniform(low, high): density 1 / (high - low) between them.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};

pub(super) struct Uniform;

impl Univariate for Uniform {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("low", Domain::Real), scalar("high", Domain::Real)] }
    }

    fn problem(&self, args: &[Term]) -> Option<(String, String)> {
        let [low, high] = [args[0].fact(), args[1].fact()];
        if low.low >= high.high {
            let message = format!(
                "`uniform` from {} to {}: the lower end is not below the upper one",
                low.low, high.high
            );
            return Some((message, "write `uniform(low, high)` with low < high".into()));
        }
        (args[1].beyond(args[0]).low < 0.0).then(|| {
            let help = "write `uniform(low, low + width)` with a positive width";
            ("`high` of `uniform` may be below `low`".into(), help.into())
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
