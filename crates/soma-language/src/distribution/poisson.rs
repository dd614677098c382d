//! poisson(mean): counts of independent events.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Poisson;

impl Univariate for Poisson {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("mean", Domain::Positive)] }
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x * args[0].log() - args[0] - (x + 1.0).log_gamma()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.poisson(args[0])
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        noise.special(Special::PoissonQuantile, args)
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::PoissonCdf, args)
    }

    fn above<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        // The waiting time for so many events, and one more, is gamma.
        args[0].special(Special::GammaCdf, &[x + 1.0])
    }
}
