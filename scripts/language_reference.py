"""Reference values of densities and distribution functions, by SciPy.

Usage: python scripts/language_reference.py > crates/soma-language/tests/reference.json
(needs numpy and scipy; the table in the repository is by SciPy 1.17).
"""

import json
from decimal import Decimal, getcontext

import numpy as np
from scipy import special, stats

PROBABILITIES = [1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.97]
UPPER = [1e-3, 1e-6, 1e-12]

CONTINUOUS = {
    "normal": (lambda m, s: stats.norm(m, s), [(0, 1), (3, 0.2), (-5, 40)]),
    "half_normal": (lambda s: stats.halfnorm(0, s), [(1,), (20,)]),
    "log_normal": (lambda m, s: stats.lognorm(s, 0, np.exp(m)), [(0, 1), (2, 0.3), (-1, 2)]),
    "student_t": (lambda v, m, s: stats.t(v, m, s), [(1, 0, 1), (2.5, 1, 3), (30, 0, 1), (400, 0, 1)]),
    "laplace": (lambda m, s: stats.laplace(m, s), [(0, 1), (2, 5)]),
    "logistic": (lambda m, s: stats.logistic(m, s), [(0, 1), (-1, 0.3)]),
    "exponential": (lambda r: stats.expon(0, 1 / r), [(1,), (0.05,), (30,)]),
    "gamma": (lambda a, r: stats.gamma(a, 0, 1 / r), [(0.05, 1), (0.7, 2), (1, 1), (5, 0.1), (80, 3), (3000, 1)]),
    "inverse_gamma": (lambda a, b: stats.invgamma(a, 0, b), [(0.7, 2), (3, 2), (60, 100)]),
    "weibull": (lambda k, s: stats.weibull_min(k, 0, s), [(0.5, 1), (1, 2), (3.5, 10)]),
    "beta": (lambda a, b: stats.beta(a, b), [(0.05, 0.3), (1, 1), (2.5, 4), (10, 10), (300, 5), (2000, 3000)]),
    "uniform": (lambda a, b: stats.uniform(a, b - a), [(0, 1), (-3, 8)]),
}

DISCRETE = {
    "bernoulli": (lambda p: stats.bernoulli(p), [(0.3,), (1e-6,)], [0, 1]),
    "binomial": (lambda n, p: stats.binom(n, p), [(9, 0.3), (1000, 0.02), (50, 0.999)], None),
    "poisson": (lambda m: stats.poisson(m), [(0.1,), (4,), (900,)], None),
    "negative_binomial": (
        lambda m, k: stats.nbinom(k, k / (k + m)), [(3, 2), (0.2, 10), (100, 0.5)], None),
}


def score(law, x):
    below, above = law.cdf(x), law.sf(x)
    return special.ndtri(below) if below <= above else -special.ndtri(above)


def large_negative_binomials():
    """Exact to 60 digits, for sizes at which the differences of SciPy cancel."""
    getcontext().prec = 60
    rows = []
    for power in (0, 2, 4, 6, 8, 10, 12, 14, 15, 16):
        for mean in (Decimal("0.3"), Decimal(4), Decimal(70)):
            size = Decimal(10) ** power
            mass = (size * (size / (size + mean)).ln()).exp()
            below, points = Decimal(0), {0, 1, int(mean), int(3 * mean) + 5}
            for k in range(max(points) + 1):
                below += mass
                if k in points:
                    rows.append({
                        "law": "negative_binomial", "args": [float(mean), float(size)],
                        "x": float(k), "tail": 0.5, "log_density": float(mass.ln()),
                        "cdf": float(below), "score": None,
                    })
                mass *= (size + k) / (k + 1) * mean / (size + mean)
    return rows


def main():
    rows = []
    for name, (make, cases) in CONTINUOUS.items():
        for args in cases:
            law = make(*args)
            points = [(p, law.ppf(p)) for p in PROBABILITIES] + [(1 - q, law.isf(q)) for q in UPPER]
            for p, x in points:
                tail = min(law.cdf(x), law.sf(x))
                inside = np.isfinite(law.logpdf(x)) and tail > 0 and 1e-300 < abs(x)
                if not inside:
                    continue
                rows.append({
                    "law": name, "args": args, "x": float(x), "tail": float(tail),
                    "log_density": float(law.logpdf(x)), "cdf": float(law.cdf(x)),
                    "score": float(score(law, x)),
                })
    for name, (make, cases, points) in DISCRETE.items():
        for args in cases:
            law = make(*args)
            chosen = points or sorted({int(law.ppf(p)) for p in [1e-9, 0.05, 0.3, 0.5, 0.9, 1 - 1e-9]})
            for k in chosen:
                rows.append({
                    "law": name, "args": args, "x": float(k), "tail": 0.5,
                    "log_density": float(law.logpmf(k)), "cdf": float(law.cdf(k)), "score": None,
                })
    rows += large_negative_binomials()
    functions = []
    for name, f, points in [
        ("log_gamma", special.gammaln, [1e-8, 0.1, 0.5, 0.999999, 1.5, 2.0001, 7.3, 150.0, 1e6]),
        ("digamma", special.digamma, [1e-8, 0.1, 0.5, 1.0, 1.4616321449683622, 2.5, 9.9, 30.0, 1e6]),
        ("trigamma", lambda x: special.polygamma(1, x), [1e-4, 0.1, 0.5, 1.0, 2.5, 9.9, 30.0, 1e6]),
        ("normal_cdf", special.ndtr, [-37.0, -10.0, -3.0, -0.1, 0.0, 0.7, 4.0, 9.0]),
        ("normal_log_cdf", special.log_ndtr, [-200.0, -40.0, -36.0, -34.0, -10.0, -1.0, 0.0, 0.5, 3.0, 9.0]),
        ("normal_quantile", special.ndtri, [1e-300, 1e-100, 1e-12, 1e-3, 0.2, 0.5, 0.6, 0.999]),
    ]:
        functions += [{"function": name, "x": x, "value": float(f(x))} for x in points]
    lines = [",\n".join(json.dumps(row) for row in part) for part in (rows, functions)]
    print('{"laws": [\n' + lines[0] + '\n],\n"functions": [\n' + lines[1] + "\n]}")


main()
