"""A posterior as the compiled half reports on it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _soma
from ._described import spec_text
from .queries import CustomQuery

if TYPE_CHECKING:
    from .posterior import Posterior


@dataclasses.dataclass
class _About:
    title: str
    verdict: str
    settings: list[tuple[str, str]]
    spec: str | None
    notes: list[str]
    seed: int


def report_of(posterior: Posterior, title: str | None, replicates: bool) -> _soma.Report:
    """What a report shows of the posterior; with replicated releases, where they are asked for."""
    from .fit import problem_of
    from .posterior import verdict

    problem = None
    if posterior.release is not None and posterior.model is not None:
        problem = problem_of(posterior.release, posterior.model, derived=posterior.derived)
        if tuple(problem.outputs) != posterior.parameters:
            problem = None
    _, words, _, _ = verdict(posterior)
    about = _About(
        title=title or _title(posterior),
        verdict=words,
        settings=_settings(posterior),
        spec=_spec(posterior),
        notes=["The run was stopped before its end."] if posterior.interrupted else [],
        seed=1 if posterior.settings is None else posterior.settings.seed,
    )
    return _soma.Report.of(
        problem,
        list(posterior.parameters),
        list(posterior._columns),
        posterior.acceptance,
        posterior.log_density,
        posterior._crossings,
        about,
        replicates,
    )


def _title(posterior: Posterior) -> str:
    model = posterior.model
    if model is None:
        return "A posterior"
    names = posterior.parameters
    of = ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    return f"The posterior of {of}"


def _settings(posterior: Posterior) -> list[tuple[str, str]]:
    _, chains, draws = posterior._columns.shape
    rows = [("chains", str(chains)), ("draws of each chain", str(draws))]
    if posterior.settings is not None:
        made = posterior.settings
        kernels = sorted({chosen.kernel for chosen in posterior.chosen})
        kernel = f"{made.kernel} (took {', '.join(kernels)})" if kernels else made.kernel
        rows += [
            ("iterations of warm-up", str(made.warmup)),
            ("one iteration kept in", str(made.thin)),
            ("kernel", kernel),
            ("theta updates", made.moves),
            ("seed", str(made.seed)),
        ]
    if posterior.seconds == posterior.seconds:
        rows.append(("time", f"{posterior.seconds:.2f} s"))
    return [*rows, ("version of soma", _soma.__version__)]


def _spec(posterior: Posterior) -> str | None:
    """The release and the model as text, as far as text can say them."""
    if posterior.release is None or isinstance(posterior.release.query, CustomQuery):
        return None
    text = spec_text(posterior.model, posterior.derived)
    return f"{text}\n{posterior.release.to_toml()}"
