//! logistic(location, scale): distribution function 1 / (1 + exp(-(x - location) / scale)).

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Logistic;

impl Univariate for Logistic {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("location", Domain::Real), scalar("scale", Domain::Positive)] }
    }

    fn support<'g>(&self, _: &[Term<'g>]) -> Support<'g> {
        Support::REAL
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let z = (x - args[0]) / args[1];
        -z - 2.0 * (-z).softplus() - args[1].log()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        let u = source.uniform();
        args[0] + args[1] * (u.log() - (-u).log1p())
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] + args[1] * (noise.normal_log_cdf() - (-noise).normal_log_cdf())
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[0]) / args[1]).special(Special::LogitScore, &[])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[0]) / args[1]).logistic()
    }
}
