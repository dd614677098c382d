"""The command `soma` that the package installs.

It loads the compiled half of the package alone: importing `soma` would import NumPy and pandas
first, which takes longer than many a command. `python -m soma` does the same with them.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import signal
import sys
from types import ModuleType


def _compiled() -> ModuleType:
    """The module `soma._soma`, without the package around it unless that is loaded already."""
    if "soma._soma" in sys.modules:
        return sys.modules["soma._soma"]
    package = importlib.util.find_spec("soma")
    if package is None or package.submodule_search_locations is None:
        raise ImportError("the package soma-mcmc is not installed")
    loader = importlib.machinery.ExtensionFileLoader
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    for folder in package.submodule_search_locations:
        finder = importlib.machinery.FileFinder(folder, (loader, suffixes))
        found = finder.find_spec("_soma")
        if found is not None and found.loader is not None:
            module = importlib.util.module_from_spec(found)
            found.loader.exec_module(module)
            return module
    raise ImportError("the compiled half of the package soma-mcmc is not installed")


def main() -> None:
    """Runs the program on the arguments of this process, and ends as it does."""
    # Python would only take note of Ctrl-C, and look at it after the program has ended. A fit
    # watches for it itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_compiled().run_program(["soma", *sys.argv[1:]]))
