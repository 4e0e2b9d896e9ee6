"""What the wheel must do in an environment with the core and no extra."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

from releasing.building import ROOT, ReleaseError
from releasing.environments import Environment

IMPORT_SECONDS = 0.5
"""CPU seconds for a new Python that imports privclust, start of Python included."""
TIMES = 5
MISSING_EXTRA = 13
SMOKE = Path(__file__).with_name("smoke.py")
SPENT = "import privclust, time; print(time.process_time())"
INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps(sorted(d.metadata["Name"].lower().replace("_", "-") for d in distributions())))
"""


def readme_runs(environment: Environment) -> str:
    """Run the README's first example; `tests/repository/test_readme.py` compares its figures."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[0]
    printed = environment.printed("python", "-c", code)
    if not printed.strip():
        raise ReleaseError("the README's example printed nothing.")
    return "the README's example runs"


def imports_fast(environment: Environment) -> str:
    """Import in new processes and compare the median of CPU seconds."""
    seconds = median(float(environment.printed("python", "-c", SPENT)) for _ in range(TIMES))
    if seconds > IMPORT_SECONDS:
        raise ReleaseError(
            f"importing takes {seconds:.2f} CPU seconds, allowed are {IMPORT_SECONDS}. Look with "
            "python -X importtime -c 'import privclust'."
        )
    return f"import privclust takes {seconds:.2f} CPU seconds"


def nothing_else_installed(environment: Environment) -> str:
    """Compare what was installed with what was argued for and pinned."""
    installed = set(json.loads(environment.printed("python", "-c", INSTALLED))) - {"privclust"}
    pinned = (ROOT / "constraints/core.txt").read_text()
    expected = set(re.findall(r"^([\w.-]+)==", pinned, flags=re.MULTILINE))
    if installed != expected:
        raise ReleaseError(
            f"the core installed {sorted(installed - expected)} more and "
            f"{sorted(expected - installed)} less than constraints/core.txt. Run .ci/lock, look at "
            "what is new, and say in docs/decisions why a user should have it."
        )
    return f"{len(installed)} packages installed, all of them pinned in constraints/core.txt"


def command_names_its_extra(environment: Environment) -> str:
    """Type the command where the extra cli is missing."""
    done = environment.run("privclust", "--help")
    if done.returncode != MISSING_EXTRA or 'pip install ".[cli]"' not in done.stderr:
        raise ReleaseError(f"without its extra the command left with {done.returncode}.")
    return "the command says which extra it needs"


def smoke(environment: Environment) -> str:
    """Plan, fit, pay, save and load."""
    return environment.printed("python", str(SMOKE)).strip()
