//! binomial(trials, probability): successes in independent trials.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::Unary;
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Binomial;

impl Univariate for Binomial {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("trials", Domain::Count), scalar("probability", Domain::Probability)] }
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: Some(args[0]) }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [n, p] = [args[0], args[1]];
        let ways = (n + 1.0).log_gamma() - (x + 1.0).log_gamma() - (n - x + 1.0).log_gamma();
        if let Some(u) = p.argument_of(Unary::Logistic) {
            return ways + x * u - n * u.softplus();
        }
        // 0 log 0 is 0.
        let zero = x.constant(0.0);
        let hits = x.equals(zero).select(zero, x * p.log());
        let misses = x.equals(n).select(zero, (n - x) * (-p).log1p());
        ways + hits + misses
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.binomial(args[0], args[1])
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        noise.special(Special::BinomialQuantile, args)
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::BinomialCdf, args)
    }

    fn above<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [n, p] = [args[0], args[1]];
        let zero = x.constant(0.0);
        x.less(n).select(p.special(Special::BetaCdf, &[x + 1.0, n - x]), zero)
    }
}
