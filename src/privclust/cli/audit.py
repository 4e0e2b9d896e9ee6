"""``privclust audit``: attack an algorithm of one's own."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from privclust.cli.messages import clean, reporting_errors, say
from privclust.errors import ParameterError

if TYPE_CHECKING:
    from privclust.audit.canaries import AlgorithmFunctions


def audit(
    algorithm: Annotated[
        str,
        typer.Argument(
            help="A module such as package.module, or the path of a Python file; for an "
            "estimator, with :Class at the end."
        ),
    ],
    epsilon: Annotated[
        float,
        typer.Option(help="Strength of the guarantee to put to the test; smaller is stronger."),
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Large, so that failures can be counted; 0 for a pure guarantee.")
    ] = 0.01,
    fits: Annotated[int, typer.Option(help="With a canary, and as many without.")] = 500,
) -> None:
    """Attack an algorithm that you wrote; on made-up tables, there is no way to give it data.

    The module has plan(n_clusters, n_columns, budget, n_rows) and run(curator, plan, rng), as those
    of privclust.algorithms have; an estimator's class has methods plan(task) and run(curator, plan,
    rng), as subclasses of privclust.PrivateClusterer have. It is run, so trust it.
    """
    from privclust.audit.checks import verdicts
    from privclust.privacy.accounting import Budget
    from privclust.privacy.integers import integer

    with reporting_errors():
        budget, fits = Budget(epsilon, delta), integer("fits", fits)
        failed = 0
        for verdict in verdicts(_algorithm(algorithm), budget, fits):
            failed += not verdict.passed
            typer.echo(f"{'PASS' if verdict.passed else 'FAIL'} {verdict.check}: {verdict.did}")
            for finding in verdict.findings:
                typer.echo(clean(f"     {finding}"))
    say(
        "All tables were made up: this command takes no data. What it did not find may be there "
        "all the same."
    )
    if failed:
        raise typer.Exit(1)


def _algorithm(name: str) -> AlgorithmFunctions:
    """Import a module, by its name or from its file, and take its functions or its estimator."""
    from privclust.audit.canaries import AlgorithmFunctions
    from privclust.audit.estimators import algorithm_of

    place, _, kind = name.rpartition(":")
    if place and kind.isidentifier():
        found = getattr(_imported(place), kind, None)
        if not isinstance(found, type):
            raise ParameterError(f"{place} has no class {kind}. Name one that it defines.")
        return algorithm_of(found)
    module = _imported(name)
    missing = [part for part in ("plan", "run") if not callable(getattr(module, part, None))]
    if missing:
        raise ParameterError(
            f"{name} has no {' and no '.join(missing)}. An algorithm is a module with functions "
            "plan(n_clusters, n_columns, budget, n_rows) and run(curator, plan, rng). Of an "
            "estimator, name its class: MODULE:CLASS."
        )
    return AlgorithmFunctions(module.plan, module.run)


def _imported(name: str) -> ModuleType:
    try:
        if not name.endswith(".py"):
            return import_module(name)
        spec = spec_from_file_location(Path(name).stem, name)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
    else:
        return module
    raise ParameterError(
        f"{name} could not be imported ({cause}). Name a module that Python finds, such as "
        "privclust.algorithms.dp_lloyd, or the path of a file that ends in .py."
    )
