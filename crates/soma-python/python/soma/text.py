"""Models and statistics as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ._checks import shortened
from ._described import toml
from .models import BuiltinModel
from .queries import Query


@dataclasses.dataclass(frozen=True, repr=False)
class TextModel(BuiltinModel):
    """A model that texts describe: made by `soma.Model(parameters, record, **data)`.

    Args:
        parameters: a line for each parameter with its prior.
        record: a line for each variable of a record.
        data: numbers and lists of numbers that the texts use.
        outputs: the names of those that the parameters compute with `=` (and of shares and factors of
            correlations, for their last entries) that are in the posterior; all, if left out, that
            have at most 50 numbers.
    """

    kind: ClassVar[str] = ""
    _own: ClassVar[tuple[str, ...]] = ("parameters", "record", "outputs", "fixed", "summaries")
    parameters: str
    record: str
    data: Mapping[str, Any] | None = None
    outputs: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("parameters", "record"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise TypeError(
                    f"model.{name}: must be a text (given: {shortened(text)}). "
                    "Allowed: lines such as `x ~ normal(m, s)`."
                )
        toml(dict(self.data or {}))

    def __hash__(self) -> int:
        return hash((self.parameters, self.record))


@dataclasses.dataclass(frozen=True, repr=False)
class Statistics(Query):
    """Expressions of the record of a model as text, of which the sums or means were released.

    Args:
        texts: an expression for each statistic; one that is a vector is as many statistics.

    >>> soma.Statistics(["voted", "clamp(age, 18, 90)"])
    Statistics(texts=('voted', 'clamp(age, 18, 90)'))
    """

    kind: ClassVar[str] = "text"
    texts: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.texts, str):
            object.__setattr__(self, "texts", (self.texts,))
        if not all(isinstance(text, str) for text in self.texts):
            raise TypeError(
                f"query.texts: must be texts (given: {shortened(self.texts)}). "
                'Allowed: expressions of the record, such as "clamp(age, 18, 90)".'
            )
