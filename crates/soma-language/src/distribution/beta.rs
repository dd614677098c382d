//! beta(a, b): density proportional to x^(a - 1) (1 - x)^(b - 1); the mean is a / (a + b).

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Beta;

impl Univariate for Beta {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("a", Domain::Positive), scalar("b", Domain::Positive)] }
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: Some(args[0].constant(1.0)) }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [a, b] = [args[0], args[1]];
        let normaliser = a.log_gamma() + b.log_gamma() - (a + b).log_gamma();
        (a - 1.0) * x.log() + (b - 1.0) * (-x).log1p() - normaliser
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.beta(args[0], args[1])
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        noise.special(Special::BetaQuantile, args)
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::BetaScore, args)
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::BetaCdf, args)
    }
}
