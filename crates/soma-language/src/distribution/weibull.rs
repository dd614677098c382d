//! weibull(shape, scale): (x / scale)^shape is exponential of rate 1.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Weibull;

impl Univariate for Weibull {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("shape", Domain::Positive), scalar("scale", Domain::Positive)] }
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [shape, scale] = [args[0], args[1]];
        let log = x.log() - scale.log();
        (shape - 1.0) * log - (shape * log).exp() + (shape.log() - scale.log())
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[1] * (source.exponential().log() / args[0]).exp()
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let hazard = -(-noise).normal_log_cdf();
        args[1] * (hazard.log() / args[0]).exp()
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let hazard = (args[0] * (x.log() - args[1].log())).exp();
        hazard.special(Special::ExponentialScore, &[])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let hazard = (args[0] * (x.log() - args[1].log())).exp();
        -(-hazard).expm1()
    }
}
