"""The models that come with SOMA. They run wholly in Rust."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from . import _soma
from ._described import Described, toml
from .priors import DirichletPrior, Gamma, NormalInverseGamma
from .release import Release


@dataclasses.dataclass(frozen=True, repr=False)
class BuiltinModel(Described):
    """A model that comes with SOMA.

    Args:
        prior: what was believed of the parameters; needed unless they are fixed.
        fixed: a value for each parameter, by name, to hold the parameters at; the draws are then
            `summaries` of the imputed records.
        summaries: what to draw of the records where the parameters are fixed: `"mean"`, `"sd"`,
            and probabilities of quantiles.
    """

    fixed: Mapping[str, float] | None = dataclasses.field(default=None, kw_only=True)
    summaries: Sequence[str | float] | None = dataclasses.field(default=None, kw_only=True)

    def _problem(self, release: Release) -> _soma.Problem:
        return _soma.Problem.parse(f"{release._text()}model = {toml(self)}\n")


@dataclasses.dataclass(frozen=True, repr=False)
class Normal(BuiltinModel):
    """Normal records with unknown mean `mu` and variance `sigma2`.

    >>> model = soma.Normal(
    ...     prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    """

    kind: ClassVar[str] = "normal"
    prior: NormalInverseGamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Predictors(Described):
    """What is known of the predictors of a regression: they are normal.

    Args:
        mean: of each predictor.
        covariance: of the predictors; the identity, if left out.
    """

    mean: Sequence[float]
    covariance: Sequence[Sequence[float]] | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Regression(BuiltinModel):
    """Linear regression on normal predictors: records (x1, ..., xp, y).

    The parameters are the coefficients `beta0`, ..., `betap` and the variance `sigma2`.

    >>> model = soma.Regression(
    ...     predictors=soma.Predictors(mean=[0.9, -1.17]),
    ...     prior=soma.NormalInverseGamma(mean=0.0, precision=0.5, shape=10.0, rate=10.0))
    """

    kind: ClassVar[str] = "regression"
    predictors: Predictors
    prior: NormalInverseGamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Dirichlet(BuiltinModel):
    """Compositions: shares that sum to one, Dirichlet with unknown `alpha1`, `alpha2`, ...

    Args:
        dim: the number of shares; as the query has them, if left out.

    >>> model = soma.Dirichlet(3, prior=soma.Gamma(1.0, 0.1))
    """

    kind: ClassVar[str] = "dirichlet"
    dim: int | None = None
    prior: Gamma | None = None

    def _table(self) -> dict[str, Any]:
        return {key: value for key, value in super()._table().items() if key != "dim"}

    def _problem(self, release: Release) -> _soma.Problem:
        problem = super()._problem(release)
        shares = problem.record_dim
        if self.dim not in (None, shares):
            raise ValueError(
                "model.dim: the number of shares does not fit the release "
                f"(given: {self.dim}). Allowed: {shares}, as the query has it."
            )
        return problem


@dataclasses.dataclass(frozen=True, repr=False)
class Beta(BuiltinModel):
    """Records in (0, 1), beta with unknown `a` and `b`.

    >>> model = soma.Beta(prior=soma.Gamma(1.0, 0.1))
    """

    kind: ClassVar[str] = "beta"
    prior: Gamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Exponential(BuiltinModel):
    """Exponential records with unknown `rate`.

    >>> model = soma.Exponential(prior=soma.Gamma(1.0, 1.0))
    """

    kind: ClassVar[str] = "exponential"
    prior: Gamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Categorical(BuiltinModel):
    """Records that are one of a few categories, with unknown probabilities.

    >>> model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    """

    kind: ClassVar[str] = "categorical"
    prior: DirichletPrior | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Uniform(BuiltinModel):
    """Records that are uniform in a box. There are no parameters: draws are of the records.

    Args:
        range: (low, high), or one such range for each coordinate.

    >>> model = soma.Uniform(range=(0.0, 1.0), summaries=["mean", 0.5])
    """

    kind: ClassVar[str] = "uniform"
    range: Sequence[float] | Sequence[Sequence[float]]
