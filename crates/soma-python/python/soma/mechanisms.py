"""The noise that was added to the query's answer."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from ._described import Described

Scale = float | Sequence[float]
"""One scale, or one for each released value."""


@dataclasses.dataclass(frozen=True, repr=False)
class Mechanism(Described):
    """A family of noise with its scale, or with the privacy budget that the scale follows from."""


M = TypeVar("M", bound=Mechanism)


def _with_known_settings(cls: type[M]) -> type[M]:
    """The class; a setting that it does not have is an error that names those it has."""
    initialise = cls.__init__
    names = [field.name for field in dataclasses.fields(cls)]

    @functools.wraps(initialise)
    def checked(self: M, *arguments: Any, **settings: Any) -> None:
        for name in settings:
            if name not in names:
                raise TypeError(
                    f"{cls.__name__}: has no setting {name}. Allowed: {names[0]} or {names[1]}; "
                    f"and {names[2]}."
                )
        initialise(self, *arguments, **settings)

    setattr(cls, "__init__", checked)
    return cls


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class Laplace(Mechanism):
    """Laplace noise: density proportional to exp(-\\|r\\| / scale).

    Args:
        epsilon: the privacy budget; the scale is then sensitivity / epsilon.
        scale: the scale itself, in the unit of the released values; one, or one for each value.
        sensitivity: how far the *sum* of the statistics moves, in the sum of absolute values, when
            one record is replaced, where the curator used another number than the query's own.

    >>> soma.Laplace(epsilon=1.0)
    Laplace(epsilon=1.0)
    """

    kind: ClassVar[str] = "laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class Gaussian(Mechanism):
    """Gaussian noise: density proportional to exp(-r^2 / (2 scale^2)).

    Args:
        rho: the budget of zero-concentrated differential privacy; the scale is then
            sensitivity / sqrt(2 rho).
        scale: the standard deviation itself, in the unit of the released values; one, or one for
            each value.
        sensitivity: how far the *sum* of the statistics moves, in the Euclidean norm, when one
            record is replaced, where the curator used another number than the query's own.
    """

    kind: ClassVar[str] = "gaussian"
    rho: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class DiscreteLaplace(Mechanism):
    """Whole numbers, with probability proportional to exp(-\\|r\\| / scale): for counts.

    Args:
        epsilon, scale, sensitivity: as for `Laplace`.
    """

    kind: ClassVar[str] = "discrete-laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class DiscreteGaussian(Mechanism):
    """Whole numbers, with probability proportional to exp(-r^2 / (2 scale^2)): for counts.

    Args:
        rho, scale, sensitivity: as for `Gaussian`.
    """

    kind: ClassVar[str] = "discrete-gaussian"
    rho: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class RoundedLaplace(Mechanism):
    """Laplace noise rounded to whole numbers, as Google's library adds it to counts.

    Args:
        epsilon, scale, sensitivity: as for `Laplace`.
    """

    kind: ClassVar[str] = "rounded-laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None
