//! half_normal(scale): the absolute value of a normal of mean 0 and this standard deviation.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct HalfNormal;

impl Univariate for HalfNormal {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("scale", Domain::Positive)] }
    }

    fn holds_ends(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        Support { low: Some(args[0].constant(0.0)), high: None }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -0.5 * (x / args[0]).square() - (args[0].log() + 0.5 * std::f64::consts::FRAC_PI_2.ln())
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] * source.normal().abs()
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] * noise.special(Special::HalfNormalQuantile, &[])
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        (x / args[0]).special(Special::HalfNormalScore, &[])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        1.0 - 2.0 * (-(x / args[0])).normal_cdf()
    }
}
