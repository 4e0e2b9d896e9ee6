"""What several released objects guarantee together."""

from __future__ import annotations

from privclust._frames import clears_frames
from privclust.errors import ParameterError, safe_repr
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.composition import Composition
from privclust.models.profile import Profile
from privclust.models.statement import Statement


@clears_frames
def compose(*released: ClusterModel | FittedEstimator | Profile | Statement) -> Composition:
    """Return what models and profiles of the same rows guarantee together.

    Their runs, and all runs that they follow from, are composed, each once: a fit and its profile,
    several profiles, the models of a series. No row is read. Where runs have different deltas, the
    guarantee is read at the smallest one above 0; `epsilon_at` gives it at another.

    Parameters
    ----------
    *released : fitted estimator, ClusterModel, Profile or Statement
        What was released, or is going to be; of one unit.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> rows = np.zeros((1000, 2))
    >>> models = [PrivateKMeans(2, delta=1e-6, radius=1.0).fit(rows) for _ in range(4)]
    >>> together = compose(*models)
    >>> round(together.epsilon, 2), together.delta, len(together.runs)
    (2.12, 1e-06, 4)
    """
    if not released:
        raise ParameterError("compose needs at least one model, profile or statement.")
    statements = [_statement_of(one) for one in released]
    return Composition.of(
        (run for statement in statements for run in statement.composed.runs),
        (item for statement in statements for item in statement.not_covered),
    )


def _statement_of(released: ClusterModel | FittedEstimator | Profile | Statement) -> Statement:
    if isinstance(released, Statement):
        return released
    if isinstance(released, Profile):
        return released.privacy_statement
    try:
        return model_of(released).privacy_statement
    except (AttributeError, ParameterError):
        raise ParameterError(
            f"compose takes fitted models, profiles and statements, got {safe_repr(released)}. Fit "
            "it first, or load it with privclust.load or privclust.load_profile."
        ) from None
