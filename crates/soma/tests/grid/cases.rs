//! The problems of the grid: every compatible combination of model, query and noise.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use nalgebra::DMatrix;
use soma::chain::{Problem, Summary};
use soma::model::{
    Beta, Categorical, Dirichlet, Exponential, GammaPrior, Model, Normal, NormalInverseGamma,
    Regression, Uniform,
};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::potential::Norm;
use soma::release::query::{Categories, Gram, Histogram, LogSum, Mean};
use soma::release::{Aggregate, Query, Release};
use soma::rng::stream;

use super::answer::Answer;
use super::likelihood::{ClampedSum, Counts, Line, Plain};
use super::{enumeration, importance};

/// A model with a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// The mean of records with wide clamps, or with narrow ones and a vague prior.
    NormalMean {
        wide: bool,
    },
    ExponentialMean {
        wide: bool,
    },
    BetaMean {
        wide: bool,
    },
    UniformMean,
    FixedNormalMean,
    Categories,
    CategoricalMean,
    NormalHistogram,
    ExponentialHistogram,
    BetaHistogram,
    DirichletMean,
    DirichletLogSum,
    Regression,
}

/// The position of the released values in their range without noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    Middle,
    Inside,
    LowEdge,
    HighEdge,
    /// Two noise scales above.
    Outside,
}

/// One problem.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub family: Family,
    pub noise: Noise,
    pub n: usize,
    pub epsilon: f64,
    pub place: Place,
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Case { family, noise, n, epsilon, place } = self;
        let family = format!("{family:?}").replace(" { wide: true }", "Wide");
        let family = family.replace(" { wide: false }", "");
        write!(f, "{family:<20} {:<17} n {n:<3} eps {epsilon:<5} {place:<9?}", noise.name())
    }
}

const PLACES: [Place; 5] =
    [Place::Middle, Place::Inside, Place::LowEdge, Place::HighEdge, Place::Outside];
const ALPHA: [f64; 3] = [1.0, 2.0, 0.7];
const NORMAL_EDGES: [f64; 4] = [-1.5, -0.4, 0.5, 1.5];
const EXPONENTIAL_EDGES: [f64; 4] = [0.0, 0.5, 1.5, 3.0];
const BETA_EDGES: [f64; 4] = [0.0, 0.3, 0.6, 1.0];

/// Few records, budgets from very small to very large, and values at every position.
pub fn whole_grid() -> Vec<Case> {
    let (wide, narrow) = (true, false);
    let families = [
        Family::NormalMean { wide },
        Family::NormalMean { wide: narrow },
        Family::ExponentialMean { wide },
        Family::ExponentialMean { wide: narrow },
        Family::BetaMean { wide },
        Family::BetaMean { wide: narrow },
        Family::UniformMean,
        Family::FixedNormalMean,
        Family::Categories,
        Family::CategoricalMean,
        Family::NormalHistogram,
        Family::ExponentialHistogram,
        Family::BetaHistogram,
        Family::DirichletMean,
        Family::DirichletLogSum,
        Family::Regression,
    ];
    let epsilons = [0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
    grid(&families, &Noise::ALL, &[1, 2, 3, 10, 40], &epsilons, &PLACES)
}

/// Sharp means of few records, whose posterior is a thin surface, or in separate pieces.
pub fn sharp_grid() -> Vec<Case> {
    let both = [true, false];
    let families: Vec<Family> = both
        .iter()
        .flat_map(|&wide| {
            [
                Family::NormalMean { wide },
                Family::ExponentialMean { wide },
                Family::BetaMean { wide },
            ]
        })
        .collect();
    let epsilons = [1.0, 10.0, 30.0, 100.0, 300.0];
    let places = [Place::Middle, Place::Inside, Place::HighEdge];
    grid(&families, &[Noise::Laplace, Noise::Gaussian], &[2, 3, 5, 10, 20, 50], &epsilons, &places)
}

fn grid(
    families: &[Family],
    noises: &[Noise],
    ns: &[usize],
    epsilons: &[f64],
    places: &[Place],
) -> Vec<Case> {
    let mut cases = Vec::new();
    for &family in families {
        for &noise in noises.iter().filter(|noise| family.fits(**noise)) {
            for &n in ns.iter().filter(|n| **n > 1 || family.has_one_record()) {
                for &epsilon in epsilons {
                    let case = |place| Case { family, noise, n, epsilon, place };
                    cases.extend(places.iter().copied().map(case));
                }
            }
        }
    }
    cases
}

impl Family {
    fn counts(self) -> bool {
        matches!(
            self,
            Family::Categories
                | Family::NormalHistogram
                | Family::ExponentialHistogram
                | Family::BetaHistogram
        )
    }

    fn fits(self, noise: Noise) -> bool {
        self.counts() || !noise.is_discrete()
    }

    /// The standard deviation of one record is 0.
    fn has_one_record(self) -> bool {
        !matches!(self, Family::UniformMean | Family::FixedNormalMean)
    }

    fn model(self) -> Arc<dyn Model> {
        let gamma = |shape, rate| GammaPrior::new(shape, rate).unwrap();
        match self {
            Family::NormalMean { wide: false } => {
                Arc::new(Normal::new(0.5, 0.01, 3.0, 0.5).unwrap())
            }
            Family::ExponentialMean { wide: false } => Arc::new(Exponential::new(gamma(1.0, 0.5))),
            Family::BetaMean { wide: false } => {
                Arc::new(Beta::new(gamma(1.0, 0.5), gamma(1.0, 0.5)))
            }
            Family::NormalMean { .. } | Family::FixedNormalMean | Family::NormalHistogram => {
                Arc::new(Normal::new(0.0, 0.5, 5.0, 4.0).unwrap())
            }
            Family::ExponentialMean { .. } | Family::ExponentialHistogram => {
                Arc::new(Exponential::new(gamma(3.0, 2.0)))
            }
            Family::BetaMean { .. } | Family::BetaHistogram => {
                Arc::new(Beta::new(gamma(3.0, 1.5), gamma(3.0, 1.0)))
            }
            Family::UniformMean => Arc::new(Uniform::new(vec![(0.0, 1.0)]).unwrap()),
            Family::Categories | Family::CategoricalMean => {
                Arc::new(Categorical::new(ALPHA.to_vec()).unwrap())
            }
            Family::DirichletMean | Family::DirichletLogSum => {
                Arc::new(Dirichlet::new(vec![gamma(3.0, 1.0), gamma(3.0, 2.0)]).unwrap())
            }
            Family::Regression => {
                let precision = DMatrix::identity(2, 2);
                let prior = NormalInverseGamma::new(vec![0.0; 2], &precision, 5.0, 4.0).unwrap();
                Arc::new(Regression::new(vec![0.3], None, prior).unwrap())
            }
        }
    }

    /// The clamps of a mean on the line.
    fn clamp(self) -> (f64, f64) {
        match self {
            Family::NormalMean { wide: true } | Family::FixedNormalMean => (-4.0, 5.0),
            Family::NormalMean { wide: false } => (0.0, 1.0),
            Family::ExponentialMean { wide: true } => (0.0, 6.0),
            Family::ExponentialMean { wide: false } => (0.2, 1.5),
            Family::BetaMean { wide: true } => (0.0, 1.0),
            Family::BetaMean { wide: false } => (0.25, 0.75),
            Family::CategoricalMean => (0.0, 2.0),
            _ => (0.2, 0.8),
        }
    }

    fn query(self) -> Arc<dyn Query> {
        let edges = |edges: &[f64]| Arc::new(Histogram::new(vec![edges.to_vec()]).unwrap());
        match self {
            Family::Categories => Arc::new(Categories::new(3).unwrap()),
            Family::NormalHistogram => edges(&NORMAL_EDGES),
            Family::ExponentialHistogram => edges(&EXPONENTIAL_EDGES),
            Family::BetaHistogram => edges(&BETA_EDGES),
            Family::DirichletMean => Arc::new(Mean::new(vec![(0.1, 0.9); 2]).unwrap()),
            Family::DirichletLogSum => Arc::new(LogSum::new(2, (0.05, 1.0)).unwrap()),
            Family::Regression => Arc::new(Gram::with_range(1, (-3.0, 3.0)).unwrap()),
            _ => Arc::new(Mean::new(vec![self.clamp()]).unwrap()),
        }
    }

    fn line(self) -> Line {
        match self {
            Family::NormalMean { .. } | Family::FixedNormalMean | Family::NormalHistogram => {
                Line::Normal
            }
            Family::ExponentialMean { .. } | Family::ExponentialHistogram => Line::Exponential,
            Family::UniformMean => Line::Uniform,
            _ => Line::Beta,
        }
    }
}

impl Case {
    /// The problem, unless such values are impossible.
    pub fn problem(&self) -> Option<Problem> {
        let (query, model) = (self.family.query(), self.family.model());
        let sensitivity = query.sensitivity();
        let scale = match self.noise.law().sensitivity_norm() {
            Some(Norm::L2) => sensitivity.l2,
            _ => sensitivity.l1,
        } / self.epsilon;
        let aggregate = if self.family.counts() { Aggregate::Sum } else { Aggregate::Mean };
        let unit = if aggregate == Aggregate::Mean { 1.0 } else { self.n as f64 };
        let scale = scale * unit / self.n as f64;
        let mechanism = Mechanism::new(self.noise, vec![scale; query.dim()]).unwrap();
        let values = self.values(query.as_ref(), model.as_ref(), scale, unit);
        let release = Release::new(query, mechanism, aggregate, self.n, values).unwrap();
        release.check_reach().ok()?;
        let problem = Problem::new(release, model).ok()?;
        match self.family {
            Family::FixedNormalMean => {
                problem.with_fixed(vec![0.2, 1.5], vec![Summary::Mean, Summary::Sd]).ok()
            }
            _ => Some(problem),
        }
    }

    fn values(&self, query: &dyn Query, model: &dyn Model, scale: f64, unit: f64) -> Vec<f64> {
        let bounds = query.bounds();
        let at = |share: f64| -> Vec<f64> {
            bounds.iter().map(|(low, high)| unit * (low + share * (high - low))).collect()
        };
        let whole = |x: f64| if self.noise.is_discrete() { x.round() } else { x };
        if self.family.counts() {
            let shares = match self.place {
                Place::Middle => [0.4, 0.3, 0.3],
                Place::Inside => [0.1, 0.2, 0.7],
                Place::LowEdge | Place::Outside => [1.0, 0.0, 0.0],
                Place::HighEdge => [0.0, 0.0, 1.0],
            };
            let far = if self.place == Place::Outside { 2.0 * scale } else { 0.0 };
            let ways = [1.0, -1.0, -0.5];
            return shares.iter().zip(ways).map(|(s, way)| whole(s * unit + way * far)).collect();
        }
        if query.dim() > 1 && matches!(self.place, Place::Middle | Place::Inside) {
            return self.simulated(query, model);
        }
        match self.place {
            Place::Middle => at(0.5),
            Place::Inside => at(0.31),
            Place::LowEdge => at(0.0),
            Place::HighEdge => at(1.0),
            Place::Outside => at(1.0).iter().map(|value| value + 2.0 * scale).collect(),
        }
    }

    /// The statistics of simulated records, so that they are consistent.
    fn simulated(&self, query: &dyn Query, model: &dyn Model) -> Vec<f64> {
        let mut rng = stream(if self.place == Place::Middle { 1 } else { 2 }, self.n as u64);
        let mut theta = vec![0.0; model.parameters().len()];
        model.sample_prior(&mut theta, &mut rng).unwrap();
        let mut records = vec![0.0; self.n * model.record_dim()];
        model.propose(&theta, &mut records, &mut rng).unwrap();
        let mut statistics = vec![0.0; self.n * query.dim()];
        query.statistics(&records, &mut statistics).unwrap();
        let sum = |k: usize| statistics[k..].iter().step_by(query.dim()).sum::<f64>();
        (0..query.dim()).map(|k| sum(k) / self.n as f64).collect()
    }

    /// The exact posterior, if available.
    pub fn answers(&self, problem: &Problem, seed: u64) -> Option<Vec<Answer>> {
        let line = self.family.line();
        let counts =
            |edges: &[f64]| importance::answers(problem, &Counts::new(problem, line, edges), seed);
        match self.family {
            Family::Categories => {
                let rows = (0..3).map(|c| (0..3).map(|k| f64::from(c == k)).collect());
                Some(enumeration::answers(problem, &ALPHA, &rows.collect::<Vec<_>>()))
            }
            Family::CategoricalMean => {
                let rows: Vec<Vec<f64>> = (0..3).map(|c| vec![f64::from(c)]).collect();
                Some(enumeration::answers(problem, &ALPHA, &rows))
            }
            Family::NormalHistogram => counts(&NORMAL_EDGES),
            Family::ExponentialHistogram => counts(&EXPONENTIAL_EDGES),
            Family::BetaHistogram => counts(&BETA_EDGES),
            Family::DirichletMean | Family::DirichletLogSum | Family::Regression => {
                importance::answers(problem, &Plain(problem), seed)
            }
            _ => {
                let clamp = self.family.clamp();
                importance::answers(problem, &ClampedSum { problem, line, clamp }, seed)
            }
        }
    }
}
