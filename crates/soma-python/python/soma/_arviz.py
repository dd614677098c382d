"""Draws as ArviZ has them: InferenceData before version 1, DataTree from it on."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ._soma import __version__

if TYPE_CHECKING:
    from .posterior import Posterior


def to_arviz(posterior: Posterior) -> Any:
    try:
        arviz: Any = importlib.import_module("arviz")
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
    groups = {
        "posterior": {name: posterior[name] for name in posterior.parameters},
        "sample_stats": {
            "acceptance_rate": posterior.acceptance,
            "lp": posterior.log_density,
        },
    }
    options: dict[str, Any] = {}
    if posterior.release is not None:
        groups["observed_data"] = {"release": np.array(posterior.release.observed)}
        options["coords"] = {"statistic": list(posterior.release.labels)}
        options["dims"] = {"release": ["statistic"]}
    if int(arviz.__version__.split(".")[0]) >= 1:
        data = arviz.from_dict(groups, **options)
    else:
        data = arviz.from_dict(**groups, **options)
    data.attrs.update(_attributes(posterior))
    return data


def _attributes(posterior: Posterior) -> dict[str, Any]:
    about: dict[str, Any] = {
        "inference_library": "soma",
        "inference_library_version": __version__,
        "sampling_time": posterior.seconds,
    }
    if posterior.release is not None:
        about |= {"release": repr(posterior.release), "model": repr(posterior.model)}
    if posterior.settings is not None:
        about |= {key: value for key, value in vars(posterior.settings).items()}
    return about
