//! log_normal(mean, sd): the exponential of a normal; mean and sd are those of the logarithm.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::LOG_SQRT_TWO_PI;

pub(super) struct LogNormal;

impl Univariate for LogNormal {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("mean", Domain::Real), scalar("sd", Domain::Positive)] }
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -0.5 * self.score(x, args).square() - x.log() - (args[1].log() + LOG_SQRT_TWO_PI)
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.quantile(source.normal(), args)
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (args[0] + args[1] * noise).exp()
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (x.log() - args[0]) / args[1]
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.score(x, args).normal_cdf()
    }
}
