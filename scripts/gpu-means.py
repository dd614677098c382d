"""Compares the posterior means of two runs of `soma fit --json`: NAME CPU_JSON GPU_JSON.

Prints the largest difference in standard errors, and exits with 1 if it is more than 4.
"""

import json
import math
import sys

name, cpu, gpu = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
here = {row["name"]: row for row in gpu["parameters"]}
worst = 0.0
for row in cpu["parameters"]:
    if row["name"] not in here:
        continue  # derived quantities and counts
    other = here[row["name"]]
    error = math.hypot(row["mcse_mean"], other["mcse"])
    worst = max(worst, abs(row["mean"] - other["mean"]) / error)
rhat = max(row["nested_rhat"] for row in gpu["parameters"])
print(f"{name}: {worst:.2f} standard errors, nested R-hat {rhat:.4f}")
sys.exit(worst > 4.0)
