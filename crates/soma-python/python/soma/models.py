"""The models that come with SOMA. They run wholly in Rust."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

from . import _soma
from ._described import Described, toml
from .priors import NormalInverseGamma
from .release import Release


@dataclasses.dataclass(frozen=True, repr=False)
class BuiltinModel(Described):
    """A model that comes with SOMA.

    Args:
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

    >>> soma.Normal(prior=soma.NormalInverseGamma(0.0, 0.1, 2.0, 2.0))
    Normal(prior=NormalInverseGamma(mean=0.0, lambda_=0.1, shape=2.0, rate=2.0))
    """

    kind: ClassVar[str] = "normal"
    prior: NormalInverseGamma
