"""The distribution of published values: the noise and its post-processing."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from ._described import Described

Scale = float | Sequence[float]
"""One scale, or one for each released value."""


@dataclasses.dataclass(frozen=True, repr=False)
class Mechanism(Described):
    """The distribution of published values given the records."""


@dataclasses.dataclass(frozen=True, repr=False)
class Noise(Mechanism):
    """A noise distribution with its scale, or with the privacy budget that determines the scale.

    Args:
        variance: the variance of the noise, instead of its scale. For a discrete Gaussian
            that is the variance itself, as the US Census publishes it, not its parameter.
        granularity: the width g of the lattice of discrete noise: what is published is
            g (floor(x / g + 1/2) + Z), with whole noise Z of scale / g. OpenDP's `k=` is g = 2**k.
        within: (low, high), if continuous noise was redrawn until the noisy answer was inside.
        round: the publisher rounded to multiples of this.
        clamp: (low, high), to which the publisher clamped the noisy answer; `math.inf` for no end.
        threshold: noisy answers up to this were not shown: `"suppressed"` in the values.
    """

    variance: Scale | None = dataclasses.field(default=None, kw_only=True)
    granularity: float | None = dataclasses.field(default=None, kw_only=True)
    within: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)
    round: float | None = dataclasses.field(default=None, kw_only=True)
    clamp: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)
    threshold: float | None = dataclasses.field(default=None, kw_only=True)


M = TypeVar("M", bound=Mechanism)


def _with_known_settings(cls: type[M]) -> type[M]:
    """The class; an unknown setting is an error that lists the known ones."""
    initialise = cls.__init__
    fields = sorted(dataclasses.fields(cls), key=lambda field: bool(field.kw_only))
    names = [field.name for field in fields]

    @functools.wraps(initialise)
    def checked(self: M, *arguments: Any, **settings: Any) -> None:
        for name in settings:
            if name not in names:
                raise TypeError(
                    f"{cls.__name__}: has no setting {name}. Allowed: {names[0]} or {names[1]}; "
                    f"and {', '.join(names[2:])}."
                )
        initialise(self, *arguments, **settings)

    setattr(cls, "__init__", checked)
    return cls


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class Laplace(Noise):
    """Laplace noise: density proportional to exp(-\\|r\\| / scale).

    Args:
        epsilon: the privacy budget; the scale is then sensitivity / epsilon.
        scale: the scale itself, in the unit of the released values; one, or one for each value.
        sensitivity: how far the *sum* of the statistics moves, in the sum of absolute values,
            between neighbours, where the curator used another number than the query's own.
        variance, granularity, within, round, clamp, threshold: as for `Noise`.

    >>> soma.Laplace(epsilon=1.0)
    Laplace(epsilon=1.0)
    """

    kind: ClassVar[str] = "laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class Gaussian(Noise):
    """Gaussian noise: density proportional to exp(-r^2 / (2 scale^2)).

    Args:
        rho: the budget of zero-concentrated differential privacy; the scale is then
            sensitivity / sqrt(2 rho).
        scale: the standard deviation itself, in the unit of the released values; one, or one for
            each value.
        sensitivity: how far the *sum* of the statistics moves, in the Euclidean norm, between
            neighbours, where the curator used another number than the query's own.
        epsilon, delta: another budget, with the rule that the curator used.
        rule: how the scale follows from epsilon and delta: `"analytic"` or `"classical"`.
        variance, granularity, within, round, clamp, threshold: as for `Noise`.

    >>> soma.Gaussian(epsilon=1.0, delta=1e-5, rule="analytic")
    Gaussian(epsilon=1.0, delta=1e-05, rule='analytic')
    """

    kind: ClassVar[str] = "gaussian"
    rho: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    rule: Literal["analytic", "classical"] | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class DiscreteLaplace(Noise):
    """Whole numbers, with probability proportional to exp(-\\|r\\| / scale): for counts.

    Args:
        epsilon, scale, sensitivity: as for `Laplace`.
        variance, granularity, within, round, clamp, threshold: as for `Noise`.

    >>> soma.DiscreteLaplace(scale=2.0, threshold=10)
    DiscreteLaplace(scale=2.0, threshold=10)
    """

    kind: ClassVar[str] = "discrete-laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class DiscreteGaussian(Noise):
    """Whole numbers, with probability proportional to exp(-r^2 / (2 scale^2)): for counts.

    Args:
        rho, scale, sensitivity, epsilon, delta, rule: as for `Gaussian`.
        variance, granularity, within, round, clamp, threshold: as for `Noise`.
    """

    kind: ClassVar[str] = "discrete-gaussian"
    rho: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    rule: Literal["analytic", "classical"] | None = None


@_with_known_settings
@dataclasses.dataclass(frozen=True, repr=False)
class RoundedLaplace(Noise):
    """Laplace noise rounded to whole numbers, as Google's library adds it to counts.

    Args:
        epsilon, scale, sensitivity: as for `Laplace`.
        variance, granularity, within, round, clamp, threshold: as for `Noise`.
    """

    kind: ClassVar[str] = "rounded-laplace"
    epsilon: float | None = None
    scale: Scale | None = None
    sensitivity: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Ratio(Mechanism):
    """Only the ratio of a noisy sum and a noisy count was published.

    Args:
        numerator: the noise of the sum, with its scale.
        denominator: the noise of the count, with its scale.
        middle: what the tool subtracts from each record before it sums them, and adds to the
            ratio; 0, if left out.
        least: the smallest denominator that is used, such as 1 for `max(1, count)`.

    >>> soma.Ratio(soma.Laplace(scale=1.0), soma.DiscreteLaplace(scale=1.0))
    Ratio(numerator=Laplace(scale=1.0), denominator=DiscreteLaplace(scale=1.0))
    """

    kind: ClassVar[str] = "ratio"
    numerator: Noise | Mapping[str, Any]
    denominator: Noise | Mapping[str, Any]
    middle: float | Sequence[float] | None = None
    least: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class PermuteAndFlip(Mechanism):
    """A candidate chosen by permute and flip: OpenDP's quantiles under pure privacy.

    Args:
        scale: what scores are divided by.
        epsilon: the budget, in its place.
    """

    kind: ClassVar[str] = "permute-and-flip"
    scale: float | None = None
    epsilon: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class ExponentialMechanism(Mechanism):
    """A candidate chosen with probability proportional to exp(-score / scale).

    Args:
        scale: what scores are divided by.
        epsilon: the budget, in its place.
    """

    kind: ClassVar[str] = "exponential"
    scale: float | None = None
    epsilon: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class RandomisedResponse(Mechanism):
    """Every person reported a category, the true one with a known probability and each other one
    equally often; the values are how many reported each.

    Args:
        prob: the probability that a report is true.
        epsilon: the local privacy of a person, in its place: prob is then
            e^epsilon / (e^epsilon + k - 1) with k categories.

    >>> soma.RandomisedResponse(prob=0.75)
    RandomisedResponse(prob=0.75)
    """

    kind: ClassVar[str] = "randomised-response"
    prob: float | None = None
    epsilon: float | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class SyntheticRecords(Mechanism):
    """Synthetic records were published, drawn from noisy counts that were put up to zero where they
    were negative; the values are how many of them are in each cell.

    Args:
        noise: the noise of the counts, with its scale or budget.

    >>> soma.SyntheticRecords(soma.Laplace(scale=2.0))
    SyntheticRecords(noise=Laplace(scale=2.0))
    """

    kind: ClassVar[str] = "synthetic-records"
    noise: Noise | Mapping[str, Any]
