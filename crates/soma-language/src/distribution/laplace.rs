//! laplace(location, scale): density exp(-|x - location| / scale) / (2 scale).

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct Laplace;

impl Univariate for Laplace {
    fn arguments(&self) -> &'static [Argument] {
        const { &[scalar("location", Domain::Real), scalar("scale", Domain::Positive)] }
    }

    fn support<'g>(&self, _: &[Term<'g>]) -> Support<'g> {
        Support::REAL
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        -((x - args[0]) / args[1]).abs() - (args[1].log() + std::f64::consts::LN_2)
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[0] + args[1] * (source.exponential() - source.exponential())
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        // log(2 Phi(-|e|)) is minus the magnitude.
        let size = -((-noise.abs()).normal_log_cdf() + std::f64::consts::LN_2);
        let z = noise.less(noise.constant(0.0)).select(-size, size);
        args[0] + args[1] * z
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[0]) / args[1]).special(Special::LaplaceScore, &[])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let z = (x - args[0]) / args[1];
        let tail = 0.5 * (-z.abs()).exp();
        z.less(z.constant(0.0)).select(tail, 1.0 - tail)
    }
}
