"""Honest Bayesian inference from differentially private data.

A `Release` says what was published: a query, the noise mechanism, the number of records and the
noisy values. A model says how a record is drawn given parameters, and what was believed of the
parameters before. `fit` gives draws from the posterior of the parameters, with the privacy noise
accounted for.
"""

from ._engine import WorkerLost
from ._progress import Progress
from ._soma import KERNELS, __version__
from .calibrate import Calibration, calibrate
from .couple import Coupling, couple
from .diagnose import Diagnosis, diagnose
from .fit import fit
from .many import Fits, fit_many
from .mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    RoundedLaplace,
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
from .queries import Categories, CrossTable, CustomQuery, Gram, Histogram, LogSum, Mean, Query
from .release import Release
from .spec import Spec, parse_spec, read_spec
from .stored import open
from .text import Statistics, TextModel

__all__ = [
    "Beta",
    "BuiltinModel",
    "Calibration",
    "Categorical",
    "Categories",
    "Chosen",
    "Coupling",
    "CrossTable",
    "CustomQuery",
    "Diagnosis",
    "Dirichlet",
    "DirichletPrior",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Fits",
    "Gamma",
    "Gaussian",
    "Gram",
    "Histogram",
    "KERNELS",
    "Laplace",
    "LogLinear",
    "LogSum",
    "Mean",
    "Mechanism",
    "Model",
    "Move",
    "Normal",
    "NormalInverseGamma",
    "NormalPrior",
    "Posterior",
    "Prediction",
    "Predictors",
    "Prior",
    "Progress",
    "Query",
    "Records",
    "Regression",
    "Release",
    "RoundedLaplace",
    "Settings",
    "Spec",
    "Statistics",
    "TextModel",
    "Tried",
    "Uniform",
    "WorkerLost",
    "__version__",
    "calibrate",
    "couple",
    "diagnose",
    "fit",
    "fit_many",
    "open",
    "parse_spec",
    "read_spec",
]
