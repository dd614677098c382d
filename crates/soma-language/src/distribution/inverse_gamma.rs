//! inverse_gamma(shape, scale): 1 / x is gamma(shape, scale); density proportional to x^(-shape - 1) exp(-scale / x).

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct InverseGamma;

impl Univariate for InverseGamma {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("shape", Domain::Positive), scalar("scale", Domain::Positive)] }
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let [shape, scale] = [args[0], args[1]];
        -(shape + 1.0) * x.log() - scale / x + (shape * scale.log() - shape.log_gamma())
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[1] / source.gamma(args[0])
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[1] / (-noise).special(Special::GammaQuantile, &args[..1])
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -(args[1] / x).special(Special::GammaScore, &args[..1])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        // Not 1 minus the distribution function of the gamma, which cancels in the lower tail.
        self.score(x, args).normal_cdf()
    }
}
