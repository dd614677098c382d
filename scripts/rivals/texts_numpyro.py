"""Models written as text by SOMA and by NUTS on (theta, noise), in one run.

The rival is what a careful user of NumPyro writes: each record is a function of theta and standard
normal noise (the non-centred form), the statistics are computed from the records, and NUTS samples
theta and the noise of all records in double precision, one chain. Bernoulli and Poisson records jump as
theta and their noise move, so that NUTS cannot be used for a logistic or a Poisson regression in this
form; log-normal incomes and a multivariate normal can be written.

    python -m venv rival && rival/bin/pip install "jax[cpu]" numpyro
    taskset -c 0 rival/bin/python scripts/rivals/texts_numpyro.py target/release/soma

Both sides are measured in processor time on one thread: SOMA with the default settings (4 chains of
1,000 draws after 1,000 iterations of warm-up), NUTS with 500 draws of warm-up and 1,000 kept,
compilation not counted. Prints, for each problem and side, the smallest bulk ESS of the parameters,
seconds of warm-up and of the draws, and means beside each other. `--nuts-draws` shortens the rival's
run.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import tomllib

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size, summary
from numpyro.infer import MCMC, NUTS

numpyro.enable_x64()

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def log_normal(n, scale, values):
    m = numpyro.sample("m", dist.Normal(3.0, 1.0))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.Normal(0.0, 1.0).expand([n]).to_event(1))
    income = jnp.exp(m + s * noise)
    statistics = jnp.clip(income, 0.0, 100.0)[None, :]
    numpyro.sample("values", dist.Laplace(statistics.mean(axis=1), scale), obs=values)


def multivariate_normal(n, scale, values):
    m = numpyro.sample("m", dist.Normal(0.0, 3.0).expand([3]).to_event(1))
    sd = numpyro.sample("sd", dist.HalfNormal(3.0).expand([3]).to_event(1))
    factor = numpyro.sample("L", dist.LKJCholesky(3, 2.0))
    noise = numpyro.sample("noise", dist.Normal(0.0, 1.0).expand([n, 3]).to_event(2))
    x = jnp.clip((m + noise @ (sd[:, None] * factor).T) / 5.0, -1.0, 1.0)
    a, b, c = x[:, 0], x[:, 1], x[:, 2]
    statistics = jnp.stack([a, b, c, a * a, b * a, b * b, c * a, c * b, c * c])
    numpyro.sample("values", dist.Laplace(statistics.mean(axis=1), scale), obs=values)


# The shipped spec and what is changed in it, the rival's model, and its parameters by SOMA's names.
PROBLEMS = {
    "log-normal": (
        "log-normal-mean",
        [],
        log_normal,
        lambda d: {"m": d["m"], "s": d["s"]},
    ),
    "multivariate normal": (
        "multivariate-normal",
        [("epsilon = 4.0", "epsilon = 1.0")],
        multivariate_normal,
        lambda d: {f"m[{k + 1}]": d["m"][..., k] for k in range(3)}
        | {f"sd[{k + 1}]": d["sd"][..., k] for k in range(3)}
        | {f"L[{i + 1},{j + 1}]": d["L"][..., i, j] for i in range(3) for j in range(i)},
    ),
}


def run(program, *arguments):
    """The JSON that the program prints, and its seconds on the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    printed = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True).stdout
    return json.loads(printed), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def noise_scale(program, spec):
    """The scale of the Laplace noise, as `soma check` prints it."""
    printed = subprocess.run([program, "check", spec], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"laplace noise of scale ([0-9.e-]+)", printed)[1])


def ours(program, spec):
    """The report, the seconds of warm-up and those of the draws: the difference of two runs."""
    options = ["--json", "--quiet", "--threads", 1]
    report, whole = run(program, "fit", spec, *options)
    _, warmup = run(program, "fit", spec, *options, "--draws", 1)
    return report, warmup, whole - warmup


def nuts(model, data, warmup, draws):
    """Draws, and the seconds of warm-up and draws without compilation."""
    mcmc = MCMC(NUTS(model), num_warmup=warmup, num_samples=draws, progress_bar=False)
    key = jax.random.key(1)
    short = MCMC(NUTS(model), num_warmup=1, num_samples=1, progress_bar=False)
    short.run(key, *data)
    begun = time.process_time()
    mcmc.warmup(key, *data)
    jax.block_until_ready(mcmc.last_state)
    warm = time.process_time() - begun
    # The first run of the draws compiles; the second continues from where the warm-up ended.
    ended = mcmc.last_state
    mcmc.run(ended.rng_key, *data)
    mcmc.post_warmup_state = ended
    begun = time.process_time()
    mcmc.run(ended.rng_key, *data, extra_fields=("num_steps",))
    drawn = mcmc.get_samples(group_by_chain=True)
    jax.block_until_ready(drawn)
    seconds = time.process_time() - begun
    steps = float(np.mean(mcmc.get_extra_fields()["num_steps"]))
    return drawn, warm, seconds, steps


def compare(name, program, warmup, draws):
    example, changes, model, parameters = PROBLEMS[name]
    text = (EXAMPLES / f"{example}.toml").read_text().split("[sampler]")[0]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        spec = pathlib.Path(folder) / "spec.toml"
        spec.write_text(text)
        scale = noise_scale(program, spec)
        report, our_warmup, our_drawing = ours(program, spec)
    release = tomllib.loads(text)["release"]
    data = (release["n"], scale, jnp.array(release["values"]))
    drawn, warm, seconds, steps = nuts(model, data, warmup, draws)
    theirs = {key: np.asarray(value) for key, value in parameters(drawn).items()}
    effective = {key: float(effective_sample_size(value)) for key, value in theirs.items()}
    least = min(effective.values())
    our_rows = {row["name"]: row for row in report["parameters"]}
    our_least = min(our_rows[key]["ess_bulk"] for key in theirs)
    print(f"{name}, n = {release['n']}")
    lines = [
        ("SOMA", our_least, our_warmup, our_drawing),
        (f"NUTS ({steps:.0f} steps a draw)", least, warm, seconds),
    ]
    rates = []
    for side, ess, before, during in lines:
        rates.append((ess / during, ess / (before + during)))
        print(
            f"  {side}: ESS {ess:.0f}, {before:.1f} s of warm-up, {during:.1f} s of draws,"
            f" {rates[-1][0]:.3g} a second, {rates[-1][1]:.3g} with warm-up"
        )
    (a, b), (c, d) = rates
    print(f"  times: {a / c:.0f}, with warm-up {b / d:.0f}")
    for key, value in theirs.items():
        row = our_rows[key]
        rhat = summary({key: value}, group_by_chain=True)[key]["r_hat"]
        print(
            f"  {key}: SOMA {row['mean']:.3f} (sd {row['sd']:.3f}, ESS {row['ess_bulk']:.0f}),"
            f" NUTS {value.mean():.3f} (sd {value.std():.3f}, ESS {effective[key]:.0f}, split R-hat {rhat:.2f})"
        )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--problem", choices=PROBLEMS)
    arguments.add_argument("--nuts-warmup", type=int, default=500)
    arguments.add_argument("--nuts-draws", type=int, default=1000)
    chosen = arguments.parse_args()
    for problem in [chosen.problem] if chosen.problem else PROBLEMS:
        compare(problem, chosen.program, chosen.nuts_warmup, chosen.nuts_draws)
