"""Runs in folders are those of the command line, and go on where they were stopped."""

import concurrent.futures
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


def test_what_cannot_be_stored(release, model, own_model, tmp_path):
    with pytest.raises(ValueError, match="^out: a run of a model of your own"):
        soma.fit(release, own_model, out=tmp_path / "run")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="^out: chains that are stored run in this process"):
            soma.fit(release, model, out=tmp_path / "run", executor=pool)
    with pytest.raises(ValueError, match="^resume: there is no run"):
        soma.fit(release, model, resume=True)
    assert not (tmp_path / "run").exists()
