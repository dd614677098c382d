//! student_t(freedom, location, scale): heavy tails; freedom 1 is the Cauchy distribution.

use super::{Argument, Domain, Support, Univariate, scalar};
use crate::graph::{Source, Term};
use crate::special::Special;

pub(super) struct StudentT;

impl Univariate for StudentT {
    fn arguments(&self) -> &'static [Argument] {
        const {
            &[
                scalar("freedom", Domain::Positive),
                scalar("location", Domain::Real),
                scalar("scale", Domain::Positive),
            ]
        }
    }

    fn support<'g>(&self, _: &[Term<'g>]) -> Support<'g> {
        Support::REAL
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let nu = args[0];
        let z = (x - args[1]) / args[2];
        let normaliser = (0.5 * nu + 0.5).log_gamma()
            - (0.5 * nu).log_gamma()
            - 0.5 * (std::f64::consts::PI * nu).log();
        normaliser - args[2].log() - (0.5 * nu + 0.5) * (z.square() / nu).log1p()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        let chi2 = 2.0 * source.gamma(0.5 * args[0]);
        args[1] + args[2] * (source.normal() / (chi2 / args[0]).sqrt())
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        args[1] + args[2] * noise.special(Special::StudentQuantile, &args[..1])
    }

    fn score<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[1]) / args[2]).special(Special::StudentScore, &args[..1])
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        ((x - args[1]) / args[2]).special(Special::StudentCdf, &args[..1])
    }
}
