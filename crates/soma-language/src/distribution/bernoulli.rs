//! bernoulli(probability): 1 with this probability, otherwise 0.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::Unary;
use crate::graph::{Source, Term};

pub(super) struct Bernoulli;

impl Univariate for Bernoulli {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("probability", Domain::Probability)] }
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn is_bounded_by_type(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: Some(args[0].constant(1.0)) }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        // With p = logistic(u), log p = u - log(1 + e^u): accurate for p near 0 or 1.
        if let Some(u) = args[0].argument_of(Unary::Logistic) {
            return x * u - u.softplus();
        }
        x.less(x.constant(0.5)).select((-args[0]).log1p(), args[0].log())
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.uniform().less(args[0])
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (1.0 - args[0]).less(noise)
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let below = x.less(x.constant(1.0)).select(1.0 - args[0], x.constant(1.0));
        x.less(x.constant(0.0)).select(x.constant(0.0), below)
    }
}
