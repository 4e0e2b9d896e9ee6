"""Models that other numbers of clusters follow from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from privclust.errors import ParameterError

if TYPE_CHECKING:
    from privclust.estimators import PrivateKMeans


def load_with_coreset(file: Path) -> PrivateKMeans:
    """Return the fitted estimator of a model file that has a coreset, or refuse the model."""
    from privclust.estimators import PrivateKMeans
    from privclust.estimators._load import load

    fitted = load(file)
    if not isinstance(fitted, PrivateKMeans):
        raise ParameterError(
            f"{file.name} is a model of {type(fitted).__name__}, and this follows from what "
            "PrivateKMeans releases. Name a model that 'privclust fit' wrote."
        )
    return fitted
