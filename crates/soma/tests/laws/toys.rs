//! Problems small enough to be enumerated: records in a few categories.

use std::sync::Arc;

use rand::RngExt;
use soma::Outcome;
use soma::kernel::{Batch, Proposals, Records};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::potential::{Block, Coordinate, Joint};
use soma::release::query::Sensitivity;
use soma::release::{Aggregate, Potential, Query, Release};
use soma::rng::Rng;

/// The statistic of a category.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Its indicator: one coordinate per category.
    Indicator,
    /// Two numbers without a simple relation.
    Scores,
}

/// The statistic of a category.
#[derive(Debug, Clone)]
pub struct Categories {
    pub categories: usize,
    pub statistic: Statistic,
}

impl Categories {
    pub fn of(&self, category: usize) -> Vec<f64> {
        match self.statistic {
            Statistic::Indicator => {
                (0..self.categories).map(|c| f64::from(u8::from(c == category))).collect()
            }
            Statistic::Scores => {
                let c = category as f64;
                vec![0.9 * c - 0.4 * c * c, (1.3 * c).sin()]
            }
        }
    }
}

impl Query for Categories {
    fn kind(&self) -> &'static str {
        "toy categories"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn dim(&self) -> usize {
        self.of(0).len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        for (record, row) in records.iter().zip(out.chunks_exact_mut(self.dim())) {
            row.copy_from_slice(&self.of(*record as usize));
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let all: Vec<Vec<f64>> = (0..self.categories).map(|c| self.of(c)).collect();
        let ends = |k: usize| {
            let values = all.iter().map(move |t| t[k]);
            (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max))
        };
        (0..self.dim()).map(ends).collect()
    }

    fn sensitivity(&self) -> Sensitivity {
        let pairs = (0..self.categories).flat_map(|a| (0..a).map(move |b| (a, b)));
        let gaps: Vec<Vec<f64>> = pairs
            .map(|(a, b)| self.of(a).iter().zip(self.of(b)).map(|(x, y)| x - y).collect())
            .collect();
        let l1 = gaps.iter().map(|g: &Vec<f64>| g.iter().map(|x| x.abs()).sum());
        let l2 = gaps.iter().map(|g: &Vec<f64>| g.iter().map(|x| x * x).sum::<f64>().sqrt());
        Sensitivity { l1: l1.fold(0.0, f64::max), l2: l2.fold(0.0, f64::max) }
    }

    fn labels(&self) -> Vec<String> {
        (0..self.dim()).map(|k| format!("t{k}")).collect()
    }

    fn is_integer(&self) -> bool {
        self.statistic == Statistic::Indicator
    }

    fn bins(&self) -> Option<usize> {
        (self.statistic == Statistic::Indicator).then_some(self.categories)
    }
}

/// n records, each one of the categories with the probabilities `f`, under a release.
#[derive(Debug, Clone)]
pub struct Toy {
    pub name: String,
    pub n: usize,
    pub f: Vec<f64>,
    pub query: Categories,
    pub noise: Noise,
    pub scale: f64,
    pub released: Vec<f64>,
    pub cost: Cost,
}

/// The cost of a residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// From the noise.
    Noise,
    /// |r| in the first coordinate, and r^2 / 2 in the others.
    Mixed,
    /// log(1 + the sum of r^2): neither separable nor log-concave.
    Heavy,
}

#[derive(Debug)]
struct Heavy;

impl Joint for Heavy {
    fn cost(&self, residual: &[f64]) -> f64 {
        residual.iter().map(|r| r * r).sum::<f64>().ln_1p()
    }
}

impl Toy {
    /// Every kind of noise that is possible for the statistic, for several sizes.
    pub fn all() -> Vec<Toy> {
        let mut all = Vec::new();
        for (n, f) in [(2, vec![0.3, 0.7]), (3, vec![0.5, 0.2, 0.3]), (4, vec![0.4, 0.6])] {
            for statistic in [Statistic::Indicator, Statistic::Scores] {
                let query = Categories { categories: f.len(), statistic };
                for noise in Noise::ALL {
                    if noise.is_discrete() && !query.is_integer() {
                        continue;
                    }
                    let released = match (query.dim(), noise.is_discrete()) {
                        (dim, true) => [1.0, 3.0, -1.0][..dim].to_vec(),
                        (dim, false) => [1.4, 2.3, -0.6][..dim].to_vec(),
                    };
                    let name = format!("{n} records, {statistic:?}, {}", noise.name());
                    let (f, query, scale) = (f.clone(), query.clone(), 0.4);
                    let cost = Cost::Noise;
                    all.push(Toy { name, n, f, query, noise, scale, released, cost });
                }
                let is_plain = |toy: &&Toy| toy.noise == Noise::Laplace && toy.n == 3;
                if let Some(toy) = all.iter().rev().find(is_plain).filter(|_| n == 3).cloned() {
                    for cost in [Cost::Mixed, Cost::Heavy] {
                        let name = format!("{n} records, {statistic:?}, {cost:?}");
                        all.push(Toy { name, cost, ..toy.clone() });
                    }
                }
            }
        }
        all
    }

    pub fn release(&self) -> Release {
        let scales = vec![self.scale; self.query.dim()];
        let mechanism = Mechanism::new(self.noise, scales).unwrap();
        let query = Arc::new(self.query.clone());
        Release::new(query, mechanism, Aggregate::Sum, self.n, self.released.clone()).unwrap()
    }

    /// The potential of the toy problem.
    pub fn potential(&self) -> Arc<Potential> {
        let k = self.query.dim();
        let blocks = match self.cost {
            Cost::Noise => return self.release().potential().clone(),
            Cost::Mixed => (0..k)
                .map(|c| Block::Coordinate(if c == 0 { Coordinate::L1 } else { Coordinate::L2 }))
                .collect(),
            Cost::Heavy => vec![Block::Joint(k, Arc::new(Heavy))],
        };
        Arc::new(Potential::new(blocks))
    }

    pub fn states(&self) -> usize {
        self.f.len().pow(self.n as u32)
    }

    /// The categories of the records in state number `state`.
    pub fn decode(&self, mut state: usize) -> Vec<usize> {
        let digit = |_| {
            let digit = state % self.f.len();
            state /= self.f.len();
            digit
        };
        (0..self.n).map(digit).collect()
    }

    /// The inverse of [`decode`](Toy::decode).
    pub fn encode(&self, records: &[usize]) -> usize {
        records.iter().rev().fold(0, |state, &category| state * self.f.len() + category)
    }

    /// eta(s_dp | S(x)), up to a constant, from the definition of the noise.
    pub fn eta(&self, records: &[usize]) -> f64 {
        let (mut cost, mut squares) = (0.0, 0.0);
        for (k, released) in self.released.iter().enumerate() {
            let sum: f64 = records.iter().map(|&c| self.query.of(c)[k]).sum();
            let z = (released - sum) / self.scale;
            squares += z * z;
            cost += match self.noise {
                _ if self.cost == Cost::Mixed && k > 0 => 0.5 * z * z,
                Noise::Laplace | Noise::DiscreteLaplace => z.abs(),
                Noise::Gaussian | Noise::DiscreteGaussian => 0.5 * z * z,
                // The probability that Laplace noise rounds to released - sum.
                Noise::RoundedLaplace => {
                    let (far, near) = (z.abs() + 0.5 / self.scale, z.abs() - 0.5 / self.scale);
                    let tail = |z: f64| 0.5 * (-z).exp();
                    let up_to = |z: f64| if z < 0.0 { 1.0 - tail(-z) } else { tail(z) };
                    -(up_to(near) - up_to(far)).ln()
                }
            };
        }
        if self.cost == Cost::Heavy { 1.0 / (1.0 + squares) } else { (-cost).exp() }
    }

    pub fn records(&self, release: &Release, state: usize) -> Records {
        let records = self.decode(state).iter().map(|&c| c as f64).collect();
        Records::new(release, records).unwrap()
    }

    pub fn state_of(&self, records: &Records) -> usize {
        let categories: Vec<usize> = records.all().iter().map(|&x| x as usize).collect();
        self.encode(&categories)
    }
}

/// Proposals of categories with the probabilities of a toy.
pub struct ToyProposals<'a>(pub &'a Toy);

impl Proposals for ToyProposals<'_> {
    fn fill(&mut self, size: usize, batch: &mut Batch, rng: &mut Rng) -> Outcome {
        let toy = self.0;
        batch.resize(size, 1, toy.query.dim());
        let (records, statistics) = batch.parts_mut();
        for x in records.iter_mut() {
            let mut left: f64 = rng.random();
            let category = toy.f.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            *x = category.unwrap_or(toy.f.len() - 1) as f64;
        }
        toy.query.statistics(records, statistics)?;
        statistics.iter_mut().for_each(|t| *t /= toy.scale);
        Ok(())
    }
}
