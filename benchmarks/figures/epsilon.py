"""The slider of epsilon: fits that were made before, in a page without a server.

`docs/explanations/epsilon_slider.html` holds all of it: a picture for each epsilon, and a sentence.
The table beside it says the same to whoever has no JavaScript. Fits are seeded, so that the page is
the same each time; the numbers of the table follow from the library's own formulas.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np

from privclust import PrivateKMeans, forecast
from privclust.kernels.grid import FloatArray
from privclust.models.composition import best_power
from privclust.privacy.accounting import Budget
from privclust.testing import SeededNoise, noise_from

PLACE = Path(__file__).parents[2] / "docs" / "explanations" / "epsilon_slider.html"
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
START = EPSILONS.index(1.0)
ROWS, CLUSTERS, DELTA = 3000, 5, 1e-6
FITS, SHOWN = 6, 400


def made_up() -> FloatArray:
    """Return rows between 0 and 100 in five clusters."""
    rng = np.random.default_rng(8)
    middles = np.array([(22, 25), (75, 20), (50, 52), (20, 78), (80, 76)])
    return np.asarray(rng.normal(middles[rng.integers(0, CLUSTERS, ROWS)], 7.0).clip(0, 100))


def fits(epsilon: float) -> list[FloatArray]:
    """Return the centres of some seeded fits."""
    found = []
    for seed in range(FITS):
        with noise_from(SeededNoise(seed)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise hides clusters is what the page shows
            model = PrivateKMeans(
                CLUSTERS, epsilon=epsilon, delta=DELTA, bounds=(0, 100), random_state=seed
            )
            found.append(model.fit(made_up()).cluster_centers_)
    return found


def print_table() -> None:
    """Print what each epsilon means and costs on this table."""
    print(
        "| epsilon | no outcome is more likely by a factor of | best test at 5 % false alarms "
        "finds one row in | sizes | rows each cluster needs | loss over k-means |"
    )
    print("|---" * 6 + "|")
    for epsilon in EPSILONS:
        expected = forecast(ROWS, 2, CLUSTERS, epsilon=epsilon, delta=DELTA)
        cells = (
            f"{epsilon:g}",
            f"{_up(math.exp(epsilon))}",
            f"{_power(epsilon):.1f} %",
            f"± {expected.size_stderr:.0f}",
            f"{expected.smallest:,}",
            f"{expected.ratio:.3f}" if expected.found else "noise hides clusters",
        )
        print(f"| {' | '.join(cells)} |")


def _power(epsilon: float) -> float:
    """Return in how many of a hundred cases the best test finds one row, rounded up."""
    return math.ceil(1000 * best_power(Budget(epsilon, DELTA).capacity)) / 10


def _up(value: float) -> str:
    """Return a factor in three digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / unit - 1e-9) * unit:,.6g}"


def slider() -> str:
    """Return the page's part: a range, a picture for each epsilon, and what it means."""
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{100 - y:.1f}" r=".45"/>' for x, y in made_up()[:SHOWN]
    )
    pictures, words = [], []
    for number, epsilon in enumerate(EPSILONS):
        hidden = "" if number == START else " hidden"
        crosses = "".join(
            f'<path d="M{x - 1.6:.1f} {98.4 - y:.1f}l3.2 3.2m0-3.2l-3.2 3.2"/>'
            for centers in fits(epsilon)
            for x, y in centers
        )
        style = "" if number == START else ' style="display:none"'
        pictures.append(f'<g class="epsilon-step"{style}>{crosses}</g>')
        words.append(
            f'<p class="epsilon-step"{hidden}>With you in the table no outcome is more than '
            f"<b>{_up(math.exp(epsilon))}</b> times as likely as without you, up to delta. The "
            f"best test at 5 % false alarms finds you in <b>{_power(epsilon):.1f} %</b> of cases; "
            "guessing finds 5 %.</p>"
        )
    return f"""<!-- made by python -m benchmarks figures -->
<div id="epsilon" hidden>
<label for="epsilon-range">epsilon = <output id="epsilon-value">{EPSILONS[START]:g}</output></label>
<input id="epsilon-range" type="range" min="0" max="{len(EPSILONS) - 1}" value="{START}" step="1">
<div id="epsilon-words" aria-live="polite">
{chr(10).join(words)}
</div>
<svg viewBox="0 0 100 100" role="img"
  aria-label="Made-up rows in five groups, and the centres of {FITS} fits at this epsilon">
<g class="epsilon-rows">{dots}</g>
{chr(10).join(pictures)}
</svg>
</div>
<script>
(() => {{
  const steps = {list(EPSILONS)};
  const range = document.getElementById("epsilon-range");
  const show = () => {{
    const chosen = Number(range.value);
    document.getElementById("epsilon-value").textContent = steps[chosen];
    range.setAttribute("aria-valuetext", "epsilon " + steps[chosen]);
    document.querySelectorAll("#epsilon-words .epsilon-step").forEach((words, step) => {{
      words.hidden = step !== chosen;
    }});
    document.querySelectorAll("#epsilon svg .epsilon-step").forEach((picture, step) => {{
      picture.style.display = step === chosen ? "" : "none";
    }});
  }};
  document.getElementById("epsilon").hidden = false;
  range.addEventListener("input", show);
  show();
}})();
</script>
"""


def draw(place: Path = PLACE) -> None:
    """Write the slider."""
    place.write_text(slider(), encoding="utf-8")
