//! exponential(rate): density rate exp(-rate x); the mean is 1 / rate.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Exponential;

impl Univariate for Exponential {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("rate", Domain::Positive)] }
    }

    fn holds_ends(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0].log() - args[0] * x
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.exponential() / args[0]
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -(-noise).normal_log_cdf() / args[0]
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (args[0] * x).special(Special::ExponentialScore, &[])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -(-(args[0] * x)).expm1()
    }
}
