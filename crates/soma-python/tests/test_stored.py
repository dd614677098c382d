"""Runs in folders are those of the command line, and go on where they were stopped."""

import concurrent.futures
import dataclasses
import os
import subprocess

import numpy as np
import pytest

import soma

SHORT = dict(chains=2, warmup=30, seed=4, progress=False)


def test_a_stored_run_is_the_same_run(release, model, tmp_path):
    stored = soma.fit(release, model, draws=50, out=tmp_path / "run", **SHORT)
    here = soma.fit(release, model, draws=50, **SHORT)
    opened = soma.open(tmp_path / "run")
    for posterior in (stored, opened):
        assert np.array_equal(posterior.draws, here.draws)
        assert np.array_equal(posterior.log_density, here.log_density)
        assert posterior.settings == here.settings and not posterior.interrupted
        assert posterior.release == release and posterior.model == model
    with pytest.raises(OSError, match="holds a run already; resume it .resume=True."):
        soma.fit(release, model, draws=50, out=tmp_path / "run", **SHORT)


def test_a_run_goes_on(release, model, tmp_path):
    folder = tmp_path / "run"
    soma.fit(release, model, draws=20, out=folder, resume=True, **SHORT)
    longer = soma.fit(release, model, draws=50, out=folder, resume=True, **SHORT)
    assert np.array_equal(longer.draws, soma.fit(release, model, draws=50, **SHORT).draws)
    with pytest.raises(OSError, match="other settings"):
        soma.fit(release, model, draws=50, out=folder, resume=True, **{**SHORT, "seed": 5})


def test_an_interrupted_run_goes_on(release, model, tmp_path):
    def interrupt(progress):
        if progress.done > 500:
            raise KeyboardInterrupt

    options = dict(chains=2, warmup=30, draws=20_000, seed=4, threads=2, out=tmp_path / "run")
    part = soma.fit(release, model, progress=interrupt, **options)
    assert part.interrupted and soma.open(tmp_path / "run").interrupted
    whole = soma.fit(release, model, progress=False, resume=True, **options)
    assert not whole.interrupted and whole.draws.shape == (2, 20_000, 2)
    draws = part.draws.shape[1]
    same = soma.fit(release, model, chains=2, warmup=30, draws=draws, seed=4)
    assert np.array_equal(whole.draws[:, :draws], same.draws)


@pytest.mark.skipif("SOMA_PROGRAM" not in os.environ, reason="needs the program soma")
def test_the_program_reads_it(release, model, tmp_path):
    soma.fit(release, model, chains=4, draws=1000, out=tmp_path / "run", progress=False)
    command = [os.environ["SOMA_PROGRAM"], "diagnose", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "sigma2" in done.stdout, done.stderr


def clipped(records):
    return np.clip(records, -5.0, 5.0)


def test_a_run_of_ones_own_model_goes_on(release, carried_model, tmp_path):
    folder = tmp_path / "run"
    soma.fit(release, carried_model, draws=20, out=folder, **SHORT)
    longer = soma.fit(release, carried_model, draws=50, out=folder, resume=True, **SHORT)
    here = soma.fit(release, carried_model, draws=50, **SHORT)
    opened = soma.open(folder)
    assert np.array_equal(longer.draws, here.draws) and np.array_equal(opened.draws, here.draws)
    assert longer.model is carried_model and opened.model is None
    assert opened.release == release
    assert soma.open(folder, model=carried_model).model is carried_model


def test_a_run_of_ones_own_query_is_opened_with_it(release, own_model, tmp_path):
    own = dataclasses.replace(release, query=soma.CustomQuery(clipped, bounds=[(-5.0, 5.0)]))
    stored = soma.fit(own, own_model, draws=20, out=tmp_path / "run", **SHORT)
    opened = soma.open(tmp_path / "run", release=own)
    assert np.array_equal(stored.draws, opened.draws) and opened.release == own
    with pytest.raises(ValueError, match="^release: .* holds a run of a query of your own"):
        soma.open(tmp_path / "run")
    with pytest.raises(OSError, match="holds a run of another spec"):
        soma.fit(release, own_model, draws=20, out=tmp_path / "run", resume=True, **SHORT)


def test_what_cannot_be_stored(release, model, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="^out: chains that are stored run in this process"):
            soma.fit(release, model, out=tmp_path / "run", executor=pool)
    with pytest.raises(ValueError, match="^resume: there is no run"):
        soma.fit(release, model, resume=True)
    assert not (tmp_path / "run").exists()
