"""The program `soma`: the command that the package installs, and `python -m soma`."""

from __future__ import annotations

import signal
import sys

from . import _soma


def main() -> None:
    """Runs the program on the arguments of this process, and ends as it does."""
    # Python would only take note of Ctrl-C, and look at it after the program has ended. A fit
    # watches for it itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_soma.run_program(["soma", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
