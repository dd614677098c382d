"""Spec files: a problem and the settings of its run, as text."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from . import _soma, mechanisms, models, priors, queries
from ._described import Described
from .fit import fit
from .models import BuiltinModel
from .posterior import Posterior
from .release import Part, Release
from .text import Statistics, TextModel


@dataclasses.dataclass(frozen=True)
class Spec:
    """The contents of a spec."""

    release: Release
    """What was published."""
    model: BuiltinModel | None
    """The model; None if the spec is a release alone."""
    sampler: dict[str, Any]
    """The arguments of `soma.fit` that the spec gives."""
    output: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The table `[output]`, if the spec has one."""
    derived: dict[str, str] = dataclasses.field(default_factory=dict)
    """Quantities derived from the outputs: expressions by name."""

    def fit(self, **options: Any) -> Posterior:
        """`soma.fit` with the settings of the spec, overridden by `options`.

        The imputed records are kept as `[output]` says: `Posterior.records`; with `out=`, in the
        folder.
        """
        if self.model is None:
            raise ValueError("the spec has no [model]: call soma.fit with one of your own")
        stored = {"records_thin": self._records_thin(), "derived": self.derived or None}
        return fit(self.release, self.model, **{**self.sampler, **stored, **options})

    def _records_thin(self) -> int | None:
        return self.output.get("records_thin", 1) if self.output.get("records") else None


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Reads a spec file, such as those for the command line, with the file of the release that it may name.

    >>> spec = soma.read_spec("examples/atus-female.toml")  # doctest: +SKIP
    >>> posterior = spec.fit(draws=2000)  # doctest: +SKIP
    """
    return parse_spec(whole_text(path))


def whole_text(path: str | os.PathLike[str]) -> str:
    """The text of a spec file; `release = "published.toml"` in it is replaced by what that file, beside it, holds."""
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    if (named := _soma.release_file(text)) is None:
        return text
    return _soma.with_release(text, (path.parent / named).read_text(encoding="utf-8"))


def parse_spec(text: str) -> Spec:
    """Reads the text of a spec.

    >>> spec = soma.parse_spec('''
    ...     [release]
    ...     n = 100
    ...     statistic = "mean"
    ...     values = [0.4]
    ...     query = { kind = "mean", clamp = [-5.0, 5.0] }
    ...     mechanism = { kind = "laplace", epsilon = 1.0 }
    ... ''')
    >>> spec.release.mechanism
    Laplace(epsilon=1.0)
    """
    tables = _soma.read_spec(text)
    model = tables.get("model")
    release = tables["release"]
    release.pop("guarantee", None)  # what the curator states of it; the scales say all
    if "parts" in release:
        release["parts"] = [Part(**_part(part)) for part in release["parts"]]
    else:
        release = _part(release)
    if model is not None:
        if "prior" in model:
            model["prior"] = _prior(model["prior"])
        if "predictors" in model:
            model["predictors"] = models.Predictors(**model["predictors"])
        model = TextModel(**model) if "record" in model else _object(BuiltinModel, model)
    return Spec(
        Release(**release),
        model,
        tables.get("sampler", {}),
        tables.get("output", {}),
        tables.get("derived", {}),
    )


def _part(table: dict[str, Any]) -> dict[str, Any]:
    """The table of a part, or of a release of one part, with its query and mechanism as objects."""
    part = dict(table)
    if "statistics" in part:
        part["query"] = Statistics(part.pop("statistics"))
    else:
        part["query"] = _object(queries.Query, part["query"])
    mechanism = dict(part["mechanism"])
    for noise in {"numerator", "denominator", "noise"} & set(mechanism):
        mechanism[noise] = _object(mechanisms.Mechanism, mechanism[noise])
    part["mechanism"] = _object(mechanisms.Mechanism, mechanism)
    return part


T = TypeVar("T", bound=Described)


def _prior(table: dict[str, Any]) -> priors.Prior:
    if "lambda" in table:
        table["lambda_"] = table.pop("lambda")
    return _object(priors.Prior, table)


def _object(base: type[T], table: dict[str, Any]) -> T:
    """The object of a subclass of `base` that the table stands for."""
    fields = dict(table)
    kind = fields.pop("kind")
    (found,) = (one for one in _kinds(base) if one.kind == kind)
    return found(**fields)


def _kinds(base: type[T]) -> Iterator[type[T]]:
    for one in base.__subclasses__():
        yield one
        yield from _kinds(one)
