//! gamma(shape, rate): density proportional to x^(shape - 1) exp(-rate x); the mean is shape / rate.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Gamma;

impl Univariate for Gamma {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("shape", Domain::Positive), scalar("rate", Domain::Positive)] }
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [shape, rate] = [args[0], args[1]];
        (shape - 1.0) * x.log() - rate * x + (shape * rate.log() - shape.log_gamma())
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        source.gamma(args[0]) / args[1]
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        noise.special(Special::GammaQuantile, &args[..1]) / args[1]
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (args[1] * x).special(Special::GammaScore, &args[..1])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (args[1] * x).special(Special::GammaCdf, &args[..1])
    }
}
