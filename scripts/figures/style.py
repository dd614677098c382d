"""How the figures of the book look, and how they are written: the same bytes for the same numbers."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
PLUG_IN, SOMA, TRUTH = "#c0562f", "#1f7a72", "#333333"

plt.rcParams.update(
    {
        "svg.hashsalt": "soma",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "figure.facecolor": "white",
    }
)


def write(figure, name):
    """Writes docs/figures/NAME.svg."""
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    print(f"docs/figures/{name}.svg")
