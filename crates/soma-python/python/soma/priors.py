"""What was believed of the parameters before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from ._described import Described


@dataclasses.dataclass(frozen=True, repr=False)
class Prior(Described):
    """A prior of a model's parameters."""


@dataclasses.dataclass(frozen=True, repr=False)
class NormalInverseGamma(Prior):
    """The variance is inverse gamma, and the mean given the variance is normal.

    Args:
        mean: the prior mean.
        lambda_: how many records the prior mean is worth.
        shape: of the inverse gamma prior of the variance.
        rate: of the inverse gamma prior of the variance.
    """

    kind: ClassVar[str] = "normal-inverse-gamma"
    mean: float
    lambda_: float
    shape: float
    rate: float
