"""Honest Bayesian inference from differentially private data.

A `Release` is what was published: a query, the noise mechanism, the number of records and the noisy
values. A model is the distribution of a record given parameters, and a prior of the parameters.
`fit` draws from the posterior of the parameters, which accounts for the privacy noise.
"""

from ._engine import WorkerLost
from ._progress import Progress
from ._soma import KERNELS, __version__
from .calibrate import Calibration, calibrate
from .couple import Coupling, couple
from .diagnose import Diagnosis, diagnose
from .figure import Figure
from .fit import fit
from .groups import GroupFits, fit_groups
from .importers import from_census, from_opendp, from_pipelinedp, from_table
from .many import Fits, fit_many
from .mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    Noise,
    PermuteAndFlip,
    RandomisedResponse,
    Ratio,
    RoundedLaplace,
    SyntheticRecords,
)
from .model import Model
from .models import (
    Beta,
    BuiltinModel,
    Categorical,
    Dirichlet,
    Exponential,
    LogLinear,
    Normal,
    Predictors,
    Regression,
    Uniform,
)
from .posterior import Chosen, Move, Posterior, Settings, Tried
from .predict import Prediction
from .priors import DirichletPrior, Gamma, NormalInverseGamma, NormalPrior, Prior
from .records import Records
from .queries import (
    Categories,
    Count,
    CrossTable,
    CustomQuery,
    Gram,
    Histogram,
    LogSum,
    Mean,
    Moments,
    Quantile,
    Query,
    Variance,
)
from .release import Part, Release
from .spec import Spec, parse_spec, read_spec
from .stored import open
from .text import Statistics, TextModel

# After the modules, one of which has the name of the function.
from .planning import Plan, plan
from .curator import Released, release

__all__ = [
    "Beta",
    "BuiltinModel",
    "Calibration",
    "Categorical",
    "Categories",
    "Chosen",
    "Count",
    "Coupling",
    "CrossTable",
    "CustomQuery",
    "Diagnosis",
    "Dirichlet",
    "DirichletPrior",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "ExponentialMechanism",
    "Figure",
    "Fits",
    "Gamma",
    "Gaussian",
    "Gram",
    "GroupFits",
    "Histogram",
    "KERNELS",
    "Laplace",
    "LogLinear",
    "LogSum",
    "Mean",
    "Mechanism",
    "Model",
    "Moments",
    "Move",
    "Noise",
    "Normal",
    "NormalInverseGamma",
    "NormalPrior",
    "Part",
    "Plan",
    "PermuteAndFlip",
    "Posterior",
    "Prediction",
    "Predictors",
    "Prior",
    "Progress",
    "Quantile",
    "Query",
    "RandomisedResponse",
    "Ratio",
    "Records",
    "Regression",
    "Release",
    "Released",
    "RoundedLaplace",
    "Settings",
    "Spec",
    "Statistics",
    "SyntheticRecords",
    "TextModel",
    "Tried",
    "Uniform",
    "Variance",
    "WorkerLost",
    "__version__",
    "calibrate",
    "couple",
    "diagnose",
    "fit",
    "fit_groups",
    "fit_many",
    "from_census",
    "from_opendp",
    "from_pipelinedp",
    "from_table",
    "open",
    "parse_spec",
    "plan",
    "read_spec",
    "release",
]
