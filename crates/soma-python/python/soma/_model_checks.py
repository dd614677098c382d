"""Checks for missing or misspelled methods of a user's model."""

from __future__ import annotations

import difflib
import warnings
from typing import TYPE_CHECKING

from ._checks import shortened

if TYPE_CHECKING:
    from .model import Model

_KNOWN = ("initial", "sample_prior", "propose", "update", "log_prior", "transport", "log_density")
_TAKEN = ("chain", "draw", "acceptance", "log_density")
_CLOSE = 0.85


def check_methods(model: Model) -> None:
    """Checks that the model has the required methods, and none is misspelled."""
    name = type(model).__name__
    near = _near_misses(model)
    for method in ("propose", "update"):
        if not model._has(method):
            hint = f": did you mean it by {near[method]}?" if method in near else ""
            raise TypeError(f"{name} has no method {method}, which every model needs{hint}")
    if near:
        method, given = next(iter(near.items()))
        raise ValueError(
            f"{name}.{given}: is not a method that SOMA calls: did you mean {method}? The name of "
            "a method that is for your own use may begin with an underscore."
        )
    if not model._has("initial") and not model._has("sample_prior"):
        raise TypeError(f"{name} has neither initial nor sample_prior: a chain needs a start")
    if model._has("transport") and not model._has("log_prior"):
        raise ValueError(
            f"{name}.log_prior: is missing. transport needs it: theta moves along with the records "
            "by the ratio of prior densities. Add log_prior, or take transport away."
        )
    if model._has("log_prior") and not model._has("transport"):
        warnings.warn(
            f"{name}.transport: is missing, and log_prior alone is not used: add transport, by "
            "which chains mix faster, or call log_prior _log_prior if it is for your own use",
            stacklevel=4,
        )


def parameters_of(model: Model) -> list[str]:
    """The names of the parameters, which must be valid columns of a table of draws."""
    place = f"{type(model).__name__}.parameters"
    parameters = getattr(model, "parameters", None)
    if isinstance(parameters, str) or not parameters:
        raise TypeError(
            f"{place}: must be a list of names, such as ['mu', 'sigma'] "
            f"(given: {shortened(parameters)})"
        )
    names = [str(parameter) for parameter in parameters]
    for place_in_list, one in enumerate(names):
        if one in names[:place_in_list]:
            raise ValueError(f"{place}: two parameters have one name (given: {one!r})")
        if one in _TAKEN:
            raise ValueError(
                f"{place}: no parameter can have the name of another column of a table of draws "
                f"(given: {one!r}). Allowed: all names but {', '.join(_TAKEN)}."
            )
    return names


def _near_misses(model: Model) -> dict[str, str]:
    """Missing methods, each with a method of a similar name."""
    from .model import Model

    missing = [method for method in _KNOWN if not model._has(method)]
    plain = {method.replace("_", ""): method for method in missing}
    found = {}
    for given in dir(type(model)):
        if given.startswith("_") or hasattr(Model, given) or not callable(getattr(model, given)):
            continue
        spelled = given.replace("_", "").lower()
        for close in difflib.get_close_matches(spelled, plain, n=1, cutoff=_CLOSE):
            found[plain[close]] = given
    return found
