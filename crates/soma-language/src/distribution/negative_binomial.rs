//! negative_binomial(mean, size): a Poisson whose mean is gamma(size, size / mean); variance mean + mean^2 / size.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct NegativeBinomial;

impl Univariate for NegativeBinomial {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("mean", Domain::Positive), scalar("size", Domain::Positive)] }
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [mean, size] = [args[0], args[1]];
        // That of a Poisson and two terms that tend to 0 and to the mean as the size grows.
        let ways = x.special(Special::LogRising, &[size]) - (x + 1.0).log_gamma();
        ways + x * mean.log() - (size + x) * (mean / size).log1p()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.poisson(source.gamma(args[1]) * (args[0] / args[1]))
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        noise.special(Special::NegativeBinomialQuantile, args)
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::NegativeBinomialCdf, args)
    }

    fn above<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        x.special(Special::NegativeBinomialSf, args)
    }
}
