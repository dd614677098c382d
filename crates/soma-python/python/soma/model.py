"""A model of your own, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _soma
from ._model_checks import check_methods, parameters_of
from .release import Release

_OPTIONAL = ("sample_prior", "log_prior", "transport", "log_density")


class Model:
    """A model as text; or the base class of models of your own.

    `soma.Model(parameters, record, **data)` is the model that two texts describe, in the language
    of docs/language.md, with numbers and lists of numbers that they name. What the parameters
    compute, as in `odds = p / (1 - p)`, is in the posterior too; `outputs=["odds"]` chooses among
    such names. It runs wholly in Rust:

    >>> model = soma.Model("p ~ beta(1, 1)", "yes ~ bernoulli(p)")
    >>> release = soma.Release(
    ...     query=soma.Statistics(["yes"]), statistic="sum", n=100,
    ...     mechanism=soma.Laplace(epsilon=1.0), values=[31.0])
    >>> posterior = soma.fit(release, model, chains=2, warmup=200, draws=300, seed=1)
    >>> bool(0.2 < posterior["p"].mean() < 0.4)
    True

    A model that text cannot express is a subclass. It names its parameters, draws records given
    parameters theta, and updates theta given records, always for many records at a time. Its
    methods must be functions of their arguments alone, and all their randomness must come from
    `rng`: then the same seed gives the same draws, on any number of threads or machines.

    Required are `parameters`, `propose`, `update`, and one of `initial` and `sample_prior`.

    >>> import numpy as np
    >>> class Waiting(soma.Model):
    ...     '''Exponential waiting times, rate ~ Gamma(2, 1).'''
    ...     parameters = ["rate"]
    ...     def sample_prior(self, rng):
    ...         return [rng.gamma(2.0)]
    ...     def propose(self, theta, size, rng):
    ...         return rng.exponential(1 / theta[0], size=(size, 1))
    ...     def update(self, theta, records, rng):
    ...         return [rng.gamma(2.0 + len(records)) / (1.0 + records.sum())]
    >>> release = soma.Release(
    ...     query=soma.Mean(clamp=(0.0, 10.0)), statistic="mean", n=50,
    ...     mechanism=soma.Laplace(epsilon=2.0), values=[0.8])
    >>> posterior = soma.fit(release, Waiting(), chains=2, warmup=200, draws=300, seed=1)
    >>> posterior.draws.shape
    (2, 300, 1)
    """

    def __new__(cls, *texts: Any, **data: Any) -> Any:
        if cls is not Model:
            return super().__new__(cls)
        if not texts and not ({"parameters", "record"} <= set(data)):
            raise TypeError(
                "soma.Model: takes the texts of a model, soma.Model(parameters, record, **data), "
                "or is the base class of a model of your own"
            )
        from .text import TextModel

        named = dict(zip(("parameters", "record"), texts))
        own = {field: data.pop(field) for field in TextModel._own if field in data}
        return TextModel(**named, **own, data=data or None)

    parameters: Sequence[str]
    """The names of the parameters, in the order of theta."""

    record_columns: Sequence[str] | None = None
    """The names of a record's columns, in `Posterior.records`; x1, x2, ..., if left out."""

    record_dim: int | None = None
    """The length of a record; as `propose` returns them, if left out."""

    def initial(self, rng: np.random.Generator) -> NDArray[Any]:
        """Theta where a chain starts; a draw of the prior, if left out.

        It should be overdispersed between chains relative to the posterior, so that R-hat can
        detect a lack of convergence.
        """
        return self.sample_prior(rng)

    def sample_prior(self, rng: np.random.Generator) -> NDArray[Any]:
        """Theta drawn from the prior. Needed by `soma.calibrate`."""
        raise NotImplementedError

    def propose(self, theta: NDArray[Any], size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Records drawn independently from the model at theta, as an array of shape (size, d)."""
        raise NotImplementedError

    def update(
        self, theta: NDArray[Any], records: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """A new theta given all n records, an array of shape (n, d).

        An exact draw of theta given the records is best. Otherwise a Markov transition from `theta`
        that leaves that distribution invariant, such as some Metropolis or slice steps.
        """
        raise NotImplementedError

    def log_prior(self, theta: NDArray[Any]) -> float:
        """The log density of the prior at theta, up to a constant; `-inf` outside its support.

        With `transport`, lets chains mix faster.
        """
        raise NotImplementedError

    def transport(
        self, records: NDArray[Any], theta: NDArray[Any], new_theta: NDArray[Any]
    ) -> NDArray[Any]:
        """The records at `new_theta` with the same noise.

        If a record is x = T(theta, e), with noise e whose distribution does not depend on theta,
        then this is T(new_theta, e) for the e with x = T(theta, e): for a normal record `new_mu +
        new_sigma * (records - mu) / sigma`. If `new_theta` is `theta`, the records must be
        unchanged; records that overflow at a far `new_theta` may be infinite. With `log_prior`,
        lets chains mix faster.
        """
        raise NotImplementedError

    def log_density(self, theta: NDArray[Any], records: NDArray[Any]) -> NDArray[Any]:
        """The normalised log density of each record at theta, an array of shape (size,).

        Needed by `soma.couple` only.
        """
        raise NotImplementedError

    def _problem(self, release: Release) -> _soma.Problem:
        check_methods(self)
        record_dim = self._record_dim()
        return _soma.Problem.custom(
            release._native(record_dim),
            self,
            type(self).__name__,
            parameters_of(self),
            record_dim,
            [method for method in _OPTIONAL if self._has(method)],
        )

    def _has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Model, method)

    def _record_dim(self) -> int:
        if self.record_dim is not None:
            return self.record_dim
        rng = np.random.default_rng(0)
        theta = np.asarray(self.initial(rng), dtype=float)
        shape: tuple[int, ...] = np.shape(self.propose(theta, 2, rng))
        if shape == (2,):
            return 1
        if len(shape) == 2 and shape[0] == 2:
            return shape[1]
        raise ValueError(
            f"{type(self).__name__}.propose: returned an array of the wrong shape for size = 2 "
            f"(given: {shape}). Allowed: (2, d), one record in each row."
        )
