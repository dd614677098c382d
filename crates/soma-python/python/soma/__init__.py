"""Honest Bayesian inference from differentially private data.

A `Release` says what was published: a query, the noise mechanism, the number of records and the
noisy values. A model says how a record is drawn given parameters, and what was believed of the
parameters before. `fit` gives draws from the posterior of the parameters, with the privacy noise
accounted for.
"""

from ._engine import WorkerLost
from ._progress import Progress
from ._soma import __version__
from .fit import fit
from .mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism
from .model import Model
from .models import BuiltinModel, Normal
from .posterior import Posterior, Settings
from .priors import NormalInverseGamma, Prior
from .queries import CustomQuery, Mean, Query
from .release import Release

__all__ = [
    "BuiltinModel",
    "CustomQuery",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "Mean",
    "Mechanism",
    "Model",
    "Normal",
    "NormalInverseGamma",
    "Posterior",
    "Prior",
    "Progress",
    "Query",
    "Release",
    "Settings",
    "WorkerLost",
    "__version__",
    "fit",
]
