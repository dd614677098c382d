"""Priors of the parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from ._described import Described


@dataclasses.dataclass(frozen=True, repr=False)
class Prior(Described):
    """A prior of a model's parameters."""


@dataclasses.dataclass(frozen=True, repr=False)
class Gamma(Prior):
    """Gamma priors, independent of each other.

    Args:
        shape: one for all parameters, or one for each.
        rate: one for all parameters, or one for each.
    """

    kind: ClassVar[str] = "gamma"
    shape: float | Sequence[float]
    rate: float | Sequence[float]


@dataclasses.dataclass(frozen=True, repr=False)
class NormalPrior(Prior):
    """Normal priors with mean 0, independent of each other.

    Args:
        sd: one for all terms of the model, or one for each.
    """

    kind: ClassVar[str] = "normal"
    sd: float | Sequence[float]


@dataclasses.dataclass(frozen=True, repr=False, kw_only=True)
class NormalInverseGamma(Prior):
    """The variance is inverse gamma, and means or coefficients given the variance are normal.

    Args:
        mean: the prior mean; for a regression, of each coefficient, or one for all.
        lambda_: how many records the prior mean is worth, for `Normal`.
        precision: the precision matrix of the coefficients, in units of one over the variance, for
            `Regression`; or a number, which is the diagonal.
        shape: of the inverse gamma prior of the variance.
        rate: of the inverse gamma prior of the variance.
    """

    kind: ClassVar[str] = "normal-inverse-gamma"
    mean: float | Sequence[float]
    lambda_: float | None = None
    precision: float | Sequence[Sequence[float]] | None = None
    shape: float
    rate: float


@dataclasses.dataclass(frozen=True, repr=False)
class DirichletPrior(Prior):
    """Probabilities that sum to one, with density proportional to the product of p^(alpha - 1).

    Args:
        alpha: one for all categories, or one for each.
    """

    kind: ClassVar[str] = "dirichlet"
    alpha: float | Sequence[float]
