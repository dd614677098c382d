"""Made-up tables of noisy counts, to try and to time `soma groups` and the importers.

    python3 scripts/made_up_tables.py tracts > tracts.csv     # 3,000 tracts of 24 cells
    python3 scripts/made_up_tables.py census > census.csv     # one unit, 8 x 2 x 2 x 63 cells

The same arguments give the same table. Nothing but the standard library is needed.
"""

import argparse
import csv
import itertools
import math
import random
import sys


def discrete_gaussian(random, sigma):
    """By rejection from a rounded Laplace distribution; for tables to try, not to protect people."""
    t = math.floor(sigma) + 1
    while True:
        k = math.floor(random.expovariate(1 / t)) * random.choice((1, -1))
        if math.log(1 - random.random()) < -((abs(k) - sigma * sigma / t) ** 2) / (2 * sigma**2):
            if k != 0 or random.random() < 0.5:
                return k


def dirichlet(random, alpha):
    draws = [random.gammavariate(a, 1.0) for a in alpha]
    total = sum(draws) or 1.0
    return [draw / total for draw in draws]


def multinomial(random, n, shares):
    counts = [0] * len(shares)
    for cell in random.choices(range(len(shares)), shares, k=n):
        counts[cell] += 1
    return counts


def tracts(random, groups, cells, scale, concentration):
    """Rows group, cell, value, scale: shares of tracts around common mean shares."""
    mean = dirichlet(random, [1.0] * cells)
    yield "group", "cell", "value", "scale"
    for group in range(groups):
        n = int(random.lognormvariate(math.log(4000), 0.5))
        shares = dirichlet(random, [concentration * share for share in mean])
        for cell, count in enumerate(multinomial(random, n, shares)):
            value = count + discrete_gaussian(random, scale)
            yield f"tract{group:05}", f"cell{cell:02}", value, scale


def variance(sigma):
    """That of the discrete Gaussian."""
    reach = range(-int(12 * sigma) - 12, int(12 * sigma) + 13)
    weights = [math.exp(-k * k / (2 * sigma * sigma)) for k in reach]
    return sum(k * k * w for k, w in zip(reach, weights)) / sum(weights)


AXES = {"hhgq": 8, "votingage": 2, "hispanic": 2, "cenrace": 63}

QUERIES = {
    "total": ([], 1.5),
    "cenrace": (["cenrace"], 6.0),
    "hispanic": (["hispanic"], 4.0),
    "votingage": (["votingage"], 4.0),
    "hhgq": (["hhgq"], 6.0),
    "hispanic * cenrace": (["hispanic", "cenrace"], 5.0),
    "votingage * cenrace": (["votingage", "cenrace"], 5.0),
    "votingage * hispanic": (["votingage", "hispanic"], 4.0),
    "votingage * hispanic * cenrace": (["votingage", "hispanic", "cenrace"], 4.0),
    "detailed": (list(AXES), 6.0),
}


def census(random, people):
    """The columns of a noisy measurement file of the US Census: each query from the total to the
    detailed table with a variance of its own."""
    shape = list(AXES.values())
    cells = list(itertools.product(*map(range, shape)))
    weights = [math.exp(3 * random.gauss(0, 1)) for _ in cells]
    truth = dict.fromkeys(cells, 0)
    for cell in random.choices(cells, weights, k=people):
        truth[cell] += 1
    yield "geocode", "query_name", "query_shape", "value", "variance", "plb"
    for name, (kept, sigma) in QUERIES.items():
        levels = [AXES[axis] if axis in kept else 1 for axis in AXES]
        sums = dict.fromkeys(itertools.product(*map(range, levels)), 0)
        for cell, count in truth.items():
            sums[tuple(k if size > 1 else 0 for k, size in zip(cell, levels))] += count
        noisy = [count + discrete_gaussian(random, sigma) for count in sums.values()]
        yield "01001", name, str(tuple(levels)), str(noisy), f"{variance(sigma):.6f}", "0"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["tracts", "census"])
    parser.add_argument("--groups", type=int, default=3000)
    parser.add_argument("--cells", type=int, default=24)
    parser.add_argument("--scale", type=float, default=8.0)
    parser.add_argument("--concentration", type=float, default=40.0)
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    source = random.Random(given.seed)
    if given.kind == "tracts":
        rows = tracts(source, given.groups, given.cells, given.scale, given.concentration)
    else:
        rows = census(source, given.people)
    csv.writer(sys.stdout, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
