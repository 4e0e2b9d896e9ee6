"""The figure of `federated`: loss above the optimum, of the worst seed, against epsilon."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from benchmarks.figures import style
from benchmarks.pieces import Piece

DRAWN_AS = {"SpherePacking": "DPLloyd"}
"""Methods that are an estimator of ours under the name of a published reference."""
TITLES = {"silos": "100 silos, each row protected", "devices": "2,000 devices, each protected"}


def draw(
    excess: Mapping[Piece, float],
    methods: tuple[str, ...],
    epsilons: Mapping[str, tuple[float, ...]],
) -> Figure:
    """Draw silos and devices beside each other."""
    figure = style.new_figure(9, 4.4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, tried) in zip(panels, epsilons.items(), strict=True):
        for method in methods:
            worst = [
                max(
                    100 * found
                    for piece, found in excess.items()
                    if (piece.method, piece.dataset, piece.epsilon) == (method, name, epsilon)
                )
                for epsilon in tried
            ]
            look = style.line(DRAWN_AS.get(method, method))
            axes.plot(tried, worst, **{**look, "label": method})
        k_fed = 100 * excess[Piece("k-FED", name, 0.0, 0)]
        axes.axhline(k_fed, **style.reference_line("k-FED, not private"))
        style.plain_axes(axes)
        style.epsilon_ticks(axes, tried)
        style.ratio_ticks(axes, (0.001, 0.01, 0.1, 1, 10), sign=" %")
        axes.set(xlabel="epsilon", title=TITLES[name])
    panels[0].set_ylabel("loss above the optimum, worst seed")
    style.legend(figure, columns=3)
    return figure
