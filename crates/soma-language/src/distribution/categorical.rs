//! categorical(weights): k of 1, 2, ..., with probability weights\[k\] / sum(weights).

use super::{Argument, Domain, Support, Univariate, vector};
use crate::graph::{Source, Term, Unary};

pub(super) struct Categorical;

/// The weights; where one is e^a, all of them over the largest, since e^a may overflow.
fn weights<'g>(args: &[Term<'g>]) -> Vec<Term<'g>> {
    if args.iter().all(|weight| weight.argument_of(Unary::Exp).is_none()) {
        return args.to_vec();
    }
    let logs: Vec<Term<'g>> = args.iter().map(|weight| weight.log()).collect();
    let most = logs[1..].iter().fold(logs[0], |most, &log| most.max(log));
    logs.into_iter().map(|log| (log - most).exp()).collect()
}

fn sum<'g>(weights: &[Term<'g>]) -> Term<'g> {
    weights[1..].iter().fold(weights[0], |sum, &weight| sum + weight)
}

impl Univariate for Categorical {
    fn arguments(&self) -> &'static [Argument] {
        const { &[vector("weights", Domain::Positive)] }
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn is_bounded_by_type(&self) -> bool {
        true
    }

    fn support<'g>(&self, args: &[Term<'g>]) -> Support<'g> {
        let end = |value: usize| Some(args[0].constant(value as f64));
        Support { low: end(1), high: end(args.len()) }
    }

    fn log_density<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let args = &weights(args);
        let last = args.len() - 1;
        let log =
            args[..last].iter().enumerate().rev().fold(args[last].log(), |rest, (k, weight)| {
                x.equals(x.constant((k + 1) as f64)).select(weight.log(), rest)
            });
        log - sum(args).log()
    }

    fn sample<'g>(&self, source: Source<'g>, args: &[Term<'g>]) -> Term<'g> {
        self.quantile(source.uniform(), args)
    }

    fn quantile<'g>(&self, noise: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let args = &weights(args);
        let point = noise * sum(args);
        let mut below = args[0].constant(0.0);
        let mut place = args[0].constant(1.0);
        for &weight in &args[..args.len() - 1] {
            below = below + weight;
            place = place + below.less(point);
        }
        place
    }

    fn cdf<'g>(&self, x: Term<'g>, args: &[Term<'g>]) -> Term<'g> {
        let (zero, args) = (x.constant(0.0), &weights(args));
        let below = args.iter().enumerate().fold(zero, |sum, (k, &weight)| {
            sum + x.less(x.constant((k + 1) as f64)).select(zero, weight)
        });
        below / sum(args)
    }
}
