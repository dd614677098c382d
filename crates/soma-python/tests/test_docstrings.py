"""Every example in a docstring works."""

import doctest
import importlib
import pkgutil

import pytest

import soma

MODULES = ["soma", *(f"soma.{module.name}" for module in pkgutil.iter_modules(soma.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, release, model):
    module = importlib.import_module(name)
    posterior = soma.fit(release, model, chains=2, draws=500, seed=1)
    globs = {"soma": soma, "posterior": posterior}
    outcome = doctest.testmod(module, extraglobs=globs, optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", [name for name in soma.__all__ if name[0] != "_"])
def test_everything_public_is_documented(name):
    thing = getattr(soma, name)
    assert thing.__doc__
    for attribute, value in vars(thing).items() if isinstance(thing, type) else ():
        if attribute[0] != "_" and callable(value):
            assert value.__doc__, f"{name}.{attribute}"
