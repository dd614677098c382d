"""Compares `soma plan` with what it predicts: many independent `soma release` and `soma fit`.

    python3 scripts/prove_plan.py --soma target/release/soma [--runs 1000] [--threads 2] [EXAMPLE ...]

For each example, data sets are simulated here, with Python's own random numbers; each is released by
`soma release`, with noise from OpenDP; all published files are fitted by one call of `soma fit`, as they
are. The mean posterior standard deviation, the share of 90% intervals that hold the truth, and the share
of fits that meet the target of the spec are compared with those of `soma plan`, whose data, noise and
chains are its own. A difference is given in its standard errors, those of both sides together. The program
ends with 1 if one is beyond 4.

It needs the program with OpenDP: cargo build --release -p soma-mcmc-cli --features curator.
"""

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Standard errors from which on a difference is none of chance: with 30 comparisons, once in 500 runs.
MOST = 4.0

# R-hat from which on a fit is left out, as in a plan.
SETTLED = 1.05


def regression(spec, rng):
    """theta and records of the regression: from the prior, and from the model at theta."""
    model, n = spec["model"], spec["release"]["n"]
    prior, centre = model["prior"], model["predictors"]["mean"]
    sigma2 = 1 / rng.gammavariate(prior["shape"], 1 / prior["rate"])
    spread = math.sqrt(sigma2 / prior["precision"])
    beta = [rng.gauss(prior["mean"], spread) for _ in range(len(centre) + 1)]
    records = []
    for _ in range(n):
        x = [rng.gauss(mean, 1) for mean in centre]
        mean = beta[0] + sum(b * value for b, value in zip(beta[1:], x))
        records.append([*x, rng.gauss(mean, math.sqrt(sigma2))])
    return [*beta, sigma2], records


def time_use(spec, rng):
    """theta and records of the time use: the parameters that the plan states, and shares of days."""
    alpha = list(spec["plan"]["parameters"].values())
    records = []
    for _ in range(spec["release"]["n"]):
        parts = [rng.gammavariate(a, 1) for a in alpha]
        records.append([part / sum(parts) for part in parts])
    return alpha, records


# How data are simulated; warm-up and draws of each chain, and the chains of each fit. A chain of the time use
# carries 3,528 shares of days through several updates an iteration, 3 ms of CPU time, and its draws are nearly
# independent (`soma fit examples/plan-time-use.toml`): few are enough.
EXAMPLES = {"plan-regression": (regression, 500, 1000, 2), "plan-time-use": (time_use, 100, 150, 1)}


def cpu_seconds():
    """The CPU time of this program and of those that it called."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def called(soma, *options):
    """What a call of the program prints."""
    done = subprocess.run([soma, *map(str, options)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"soma {' '.join(map(str, options))}\n{done.stderr}")
    return done.stdout


def without_designs(name, folder):
    """The spec of an example with the first of its designs only, the stated release: file and contents."""
    text = (ROOT / "examples" / f"{name}.toml").read_text().split("[[plan.designs]]")[0]
    path = folder / "plan.toml"
    path.write_text(text)
    return path, text, tomllib.loads(text)


def released(args, name, folder, path, text, spec):
    """The truth of each data set, and a folder with a spec for each published file."""
    (folder / "specs").mkdir()
    model = "[model]" + text.split("[model]")[1].split("[data]")[0]
    columns = ",".join(spec["data"]["columns"])
    simulate, warmup, draws, chains = EXAMPLES[name]

    def one(number):
        theta, records = simulate(spec, random.Random(f"{args.seed} {name} {number}"))
        data, published = folder / f"{number}.csv", folder / f"published-{number}.toml"
        rows = "\n".join(",".join(map(repr, record)) for record in records)
        data.write_text(f"{columns}\n{rows}\n")
        called(args.soma, "release", path, "--data", data, "--out", published)
        data.unlink()
        sampler = f"[sampler]\nchains = {chains}\nwarmup = {warmup}\ndraws = {draws}\nseed = {number + 1}\n"
        fit = f'release = "../{published.name}"\n{model}\n{sampler}'
        (folder / "specs" / f"{number}.toml").write_text(fit)
        return theta

    with ThreadPoolExecutor(args.threads) as pool:
        return list(pool.map(one, range(args.runs)))


def mean(values):
    """A mean and its standard error."""
    centre = sum(values) / len(values)
    squares = sum((value - centre) ** 2 for value in values)
    return centre, math.sqrt(squares / max(len(values) - 1, 1) / len(values))


def share(values):
    """A share and its standard error, which is not 0 where all are equal."""
    count, hits = len(values), sum(values)
    inside = (hits + 1) / (count + 2)
    return hits / count, math.sqrt(inside * (1 - inside) / count)


def measured(fits, truths, target):
    """Of the fits that settled, their number and by parameter the mean sd, the coverage and, of the parameter of
    the target, the share that meets it."""
    by_name = {int(fit["name"]): fit["parameters"] for fit in fits}
    settled = [number for number in by_name if all((q["rhat"] or 1) < SETTLED for q in by_name[number])]
    figures = {}
    for k, quantity in enumerate(by_name[0]):
        own = [(by_name[number][k], truths[number][k]) for number in settled]
        figures[quantity["name"], "sd"] = mean([q["sd"] for q, _ in own])
        figures[quantity["name"], "coverage"] = share([q["q5"] <= truth <= q["q95"] for q, truth in own])
        if target["name"] == quantity["name"]:
            assert target["measure"] == "sd"
            figures[quantity["name"], "target met"] = share([q["sd"] < target["below"] for q, _ in own])
    return len(settled), figures


def planned(report):
    """The same figures of a plan."""
    (setting,) = report["settings"]
    count = setting["replications"] - setting["unsettled"]
    figures = {}
    for quantity in setting["quantities"]:
        name = quantity["name"]
        figures[name, "sd"] = quantity["sd"], quantity["sd_error"]
        hits = round(quantity["coverage"] * count)
        figures[name, "coverage"] = share([True] * hits + [False] * (count - hits))
        if report["targets"][0]["name"] == name:
            hits = round(setting["target_met"] * count)
            figures[name, "target met"] = share([True] * hits + [False] * (count - hits))
    return count, figures


def compared(args, name, folder):
    """Prints the comparison of an example; the largest difference, in standard errors."""
    path, text, spec = without_designs(name, folder)
    epsilon = spec["release"]["mechanism"]["epsilon"]
    begun = cpu_seconds()
    plan = ["plan", path, "--epsilon", epsilon, "--replications", args.runs, "--threads", args.threads]
    plan += ["--warmup", EXAMPLES[name][1], "--draws", EXAMPLES[name][2]]
    report = json.loads(called(args.soma, *plan, "--seed", args.seed, "--json", "--quiet"))
    after_plan = cpu_seconds()
    truths = released(args, name, folder, path, text, spec)
    after_release = cpu_seconds()
    fits = called(args.soma, "fit", folder / "specs", "--threads", args.threads, "--json", "--quiet")
    ended = cpu_seconds()
    of_plan, expected = planned(report)
    of_runs, found = measured(json.loads(fits)["fits"], truths, report["targets"][0])
    print(f"{name}, epsilon {epsilon}: {of_plan} of {args.runs} fits of the plan settled, "
          f"{of_runs} of {args.runs} of the runs")
    print(f"  {'':22}{'plan':>18}{'release + fit':>20}{'difference':>13}")
    worst = 0.0
    for key, (value, error) in found.items():
        planned_value, planned_error = expected[key]
        gap = (value - planned_value) / math.hypot(error, planned_error)
        worst = max(worst, abs(gap))
        figures = [f"{x:.4f} ({e:.4f})" for x, e in ((planned_value, planned_error), (value, error))]
        print(f"  {' '.join(key):22}{figures[0]:>18}{figures[1]:>20}{gap:>13.1f}")
    print(f"  CPU seconds: plan {after_plan - begun:.0f}, data and releases "
          f"{after_release - after_plan:.0f}, fits {ended - after_release:.0f}", flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help=", ".join(EXAMPLES))
    parser.add_argument("--soma", default="soma", help="the program, with OpenDP")
    parser.add_argument("--runs", type=int, default=1000, help="data sets on each side (default 1000)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1, help="of the plan and of the simulated data")
    args = parser.parse_args()
    worst = 0.0
    for name in args.examples or EXAMPLES:
        if name not in EXAMPLES:
            parser.error(f"there is no example {name!r}. Allowed: {', '.join(EXAMPLES)}")
        with tempfile.TemporaryDirectory() as folder:
            worst = max(worst, compared(args, name, Path(folder)))
    print(f"largest difference: {worst:.1f} standard errors")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
