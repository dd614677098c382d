//! normal(mean, sd): density exp(-(x - mean)^2 / (2 sd^2)) / (sd sqrt(2 pi)).

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::LOG_SQRT_TWO_PI;

pub(super) struct Normal;

impl Univariate for Normal {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("mean", Domain::Real), scalar("sd", Domain::Positive)] }
    }

    fn support<'g>(&self, _: &[Term<'g>]) -> Support<'g> {
        Support::REAL
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -0.5 * self.score(x, args).square() - (args[1].log() + LOG_SQRT_TWO_PI)
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.quantile(source.normal(), args)
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] + args[1] * noise
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (x - args[0]) / args[1]
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.score(x, args).normal_cdf()
    }
}
