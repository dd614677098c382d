"""The models that come with SOMA. They run wholly in Rust."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from . import _soma
from ._checks import instance, shortened, whole
from ._described import Described, toml
from .priors import DirichletPrior, Gamma, NormalInverseGamma, NormalPrior
from .queries import CustomQuery, LogSum, Mean
from .release import Release


@dataclasses.dataclass(frozen=True, repr=False)
class BuiltinModel(Described):
    """A model that comes with SOMA.

    Args:
        prior: the prior of the parameters; required unless they are fixed.
        fixed: a fixed value for each parameter, by name; the draws are then `summaries` of the
            imputed records.
        summaries: the summaries of the records if the parameters are fixed: `"mean"`, `"sd"`, and
            probabilities of quantiles.
    """

    priors: ClassVar[tuple[type, str] | None] = None
    """The kind of prior that this model takes, and an example of it."""

    fixed: Mapping[str, float] | None = dataclasses.field(default=None, kw_only=True)
    summaries: Sequence[str | float] | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.priors is None:
            return
        kind, example = self.priors
        prior = getattr(self, "prior", None)
        if prior is not None or self.fixed is None:
            instance(f"{type(self).__name__}.prior", prior, kind, f"prior={example}")

    def _needs(self, setting: str, without: str, example: str) -> None:
        """Of the two settings of a normal-inverse-gamma prior, this model needs one."""
        prior = getattr(self, "prior", None)
        if prior is None or (getattr(prior, setting) is not None and getattr(prior, without) is None):
            return
        raise ValueError(
            f"{type(self).__name__}.prior: takes {setting}, not {without} "
            f"(given: {shortened(prior)}). "
            f"Allowed: prior={example}."
        )

    def _problem(self, release: Release) -> _soma.Problem:
        text = f"{release._text()}model = {toml(self)}\n"
        query = release.query
        if not isinstance(query, CustomQuery):
            return _soma.Problem.parse(text)
        record_dim = query.record_dim or self._record_dim()
        return _soma.Problem.parse_for(
            text, query.function, record_dim, query.bounds, query.integer
        )

    def _record_dim(self) -> int:
        """The length of a record, for a query of the user's own."""
        return 1


@dataclasses.dataclass(frozen=True, repr=False)
class Normal(BuiltinModel):
    """Normal records with unknown mean `mu` and variance `sigma2`.

    >>> model = soma.Normal(
    ...     prior=soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    """

    kind: ClassVar[str] = "normal"
    priors = (
        NormalInverseGamma,
        "soma.NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0)",
    )
    prior: NormalInverseGamma | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("lambda_", "precision", self.priors[1])


@dataclasses.dataclass(frozen=True, repr=False)
class Predictors(Described):
    """The known normal distribution of the predictors of a regression.

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

    @property
    def record_columns(self) -> list[str]:
        """The names of a record's columns, in `Posterior.records`."""
        return [*(f"x{k + 1}" for k in range(len(self.predictors.mean))), "y"]

    def _record_dim(self) -> int:
        return len(self.predictors.mean) + 1

    priors = (
        NormalInverseGamma,
        "soma.NormalInverseGamma(mean=0.0, precision=0.5, shape=10.0, rate=10.0)",
    )
    predictors: Predictors
    prior: NormalInverseGamma | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        example = "predictors=soma.Predictors(mean=[0.0, 0.0]), a mean for each predictor"
        instance("Regression.predictors", self.predictors, Predictors, example)
        self._needs("precision", "lambda_", self.priors[1])


@dataclasses.dataclass(frozen=True, repr=False)
class Dirichlet(BuiltinModel):
    """Compositions: shares that sum to one, Dirichlet with unknown `alpha1`, `alpha2`, ...

    Args:
        dim: the number of shares; as the query has them, if left out.

    >>> model = soma.Dirichlet(3, prior=soma.Gamma(1.0, 0.1))
    """

    kind: ClassVar[str] = "dirichlet"
    priors = (Gamma, "soma.Gamma(1.0, 0.1)")
    dim: int | None = None
    prior: Gamma | None = None

    def _table(self) -> dict[str, Any]:
        return {key: value for key, value in super()._table().items() if key != "dim"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim is not None:
            whole("Dirichlet.dim", self.dim, 2)

    def _record_dim(self) -> int:
        if self.dim is None:
            raise ValueError(
                "model.dim: a query of your own does not say how many shares there are "
                "(given: None). Allowed: soma.Dirichlet(dim, ...), a whole number from 2 up."
            )
        return self.dim

    def _problem(self, release: Release) -> _soma.Problem:
        shares = len(release.values or ())
        if self.dim not in (None, shares) and isinstance(release.query, (LogSum, Mean)):
            raise ValueError(
                "model.dim: the number of shares does not fit the release (given: "
                f"{self.dim} shares). Allowed: {shares}, one for each released value; a release of "
                "compositions has a value for each share, as soma.LogSum does."
            )
        return super()._problem(release)


@dataclasses.dataclass(frozen=True, repr=False)
class Beta(BuiltinModel):
    """Records in (0, 1), beta with unknown `a` and `b`.

    >>> model = soma.Beta(prior=soma.Gamma(1.0, 0.1))
    """

    kind: ClassVar[str] = "beta"
    priors = (Gamma, "soma.Gamma(1.0, 0.1)")
    prior: Gamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Exponential(BuiltinModel):
    """Exponential records with unknown `rate`.

    >>> model = soma.Exponential(prior=soma.Gamma(1.0, 1.0))
    """

    kind: ClassVar[str] = "exponential"
    priors = (Gamma, "soma.Gamma(1.0, 1.0)")
    prior: Gamma | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Categorical(BuiltinModel):
    """Records that are one of a few categories, with unknown probabilities.

    >>> model = soma.Categorical(prior=soma.DirichletPrior(1.0))
    """

    kind: ClassVar[str] = "categorical"
    priors = (DirichletPrior, "soma.DirichletPrior(1.0)")
    prior: DirichletPrior | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class LogLinear(BuiltinModel):
    """The cells of a cross-table, with main effects of every axis and chosen interactions.

    Args:
        interactions: sets of axes, by number.

    >>> model = soma.LogLinear(interactions=[[0, 1]], prior=soma.NormalPrior(1.0))
    """

    kind: ClassVar[str] = "log-linear"
    priors = (NormalPrior, "soma.NormalPrior(1.0)")
    interactions: Sequence[Sequence[int]] | None = None
    prior: NormalPrior | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Uniform(BuiltinModel):
    """Records that are uniform in a box. There are no parameters: draws are of the records.

    Args:
        range: (low, high), or one such range for each coordinate.

    >>> model = soma.Uniform(range=(0.0, 1.0), summaries=["mean", 0.5])
    """

    kind: ClassVar[str] = "uniform"
    range: Sequence[float] | Sequence[Sequence[float]]

    def _record_dim(self) -> int:
        ranges = [one for one in self.range if isinstance(one, Sequence)]
        return len(ranges) or 1
