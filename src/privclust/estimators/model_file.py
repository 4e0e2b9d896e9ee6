"""Model files: JSON that holds what was released, is safe to load and comes back as it was."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from privclust import estimators
from privclust._files import read_regular, write_text
from privclust.domains.base import Domain, domain_from_dict
from privclust.domains.bounds_file import column_from_dict
from privclust.errors import ModelFileError
from privclust.estimators._statement import lines_of, noise_of
from privclust.kernels.grid import FloatArray
from privclust.models._json_schema import check_kind, fault, schema_of
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset, Precision
from privclust.models.intervals import Intervals
from privclust.models.profile import Profile
from privclust.models.statement import Statement
from privclust.privacy.accounting import Spend
from privclust.privacy.release import Release
from privclust.sources.guard import clears_frames

FORMAT, PROFILE_FORMAT = "privclust model 2", "privclust profile 2"
SHOWN_FAULT = 200
BYTES_MAX, POINTS_MAX = 2**28, 2**20
"""What a model file may hold, so that nobody's file keeps a machine busy."""
ROUNDING = 1e-3
"""Logarithms are read off a ruler one way, and are exact the other."""
_APART = ("bounds", "radius", "ledger", "dataset", "period", "server_data", "init")
"""Parameters that the domain says better, that name places, which do not leave, or that are
tables or models."""
_ARRAYS = {
    "center_stderr": "center_stderr_",
    "size_stderr": "size_stderr_",
    "cluster_radii": "cluster_radii_",
}


@clears_frames
def save(model: Any, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted estimator to a JSON file (model.schema.json describes it).

    It holds what was released and what is public, and no path, time or place.

    Parameters
    ----------
    model : fitted estimator
        Any of this library.
    path : str or Path
        Where to write.
    overwrite : bool, default=False
        Write over a file that is there and not empty, which may be a model that was paid for.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from privclust import PrivateKMeans, load
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     save(model, file.name)
    ...     bool((load(file.name).cluster_centers_ == model.cluster_centers_).all())
    True
    """
    write_text(to_json(model), Path(path), overwrite)


def load(path: str | Path) -> Any:
    """Return the fitted estimator that a model file describes; nothing in it is executed.

    `save` shows both.

    Parameters
    ----------
    path : str or Path
        A file that `save` or ``privclust fit`` wrote, maybe somebody else's.
    """
    return _loaded(Path(path), "model", _from_content, "privclust.save or 'privclust fit'")


@clears_frames
def save_profile(profile: Profile, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a profile to a JSON file (profile.schema.json describes it).

    It is a file of its own, because it has a run and a price of its own in the ledger and may be
    made by somebody else, long after the model was published. Its statement names the model's run,
    too. The estimators' `profile` shows both.

    Parameters
    ----------
    profile : Profile
        What an estimator's `profile` returned.
    path : str or Path
        Where to write.
    overwrite : bool, default=False
        Write over a file that is there and not empty, which may be a profile that was paid for.
    """
    write_text(profile_to_json(profile), Path(path), overwrite)


def load_profile(path: str | Path) -> Profile:
    """Return the profile that a file describes, worked out anew from the answers in it.

    The estimators' `profile` shows both.

    Parameters
    ----------
    path : str or Path
        A file that `save_profile` or ``privclust profile`` wrote.
    """
    maker = "privclust.save_profile or 'privclust profile'"
    found: Profile = _loaded(Path(path), "profile", _profile, maker)
    return found


def _loaded(file: Path, kind: str, make: Callable[[Any], Any], maker: str) -> Any:
    try:
        if file.exists() and not file.is_file():
            raise ModelFileError(
                f"{str(file)!r} cannot be read as a {kind}: it is not a regular file. Name a "
                f"{kind} file."
            )
        content = json.loads(read_regular(file, BYTES_MAX).decode(), parse_constant=_refuse)
        check_kind(content, kind, file.name)
        wrong = fault(content, schema_of(kind))
        if wrong is None:
            return make(content)
    except ModelFileError:
        raise
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise ModelFileError(
            f"the {kind} file {file.name!r} cannot be read: {cause}. Check its path and your "
            "rights to it."
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        wrong = "it is not JSON"  # nothing of the text, which may be somebody's table
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        wrong = str(error)
    raise ModelFileError(
        f"the file {file.name!r} is no {kind} of privclust, or of another version: "
        f"{wrong[:SHOWN_FAULT]}. Write one with {maker}."
    )


def to_json(model: Any) -> str:
    """Return the text of a model file."""
    given = model.get_params(deep=False)
    names = getattr(model, "feature_names_in_", None)
    content = {
        "format": FORMAT,
        "estimator": type(model).__name__,
        "private": model.privacy_statement_.private,
        "parameters": {name: _plain(value) for name, value in given.items() if name not in _APART},
        "columns": None if names is None else [str(name) for name in names],
        "domain": model.domain_.to_dict(),
        "n_rows": int(model.n_rows_),
        "cluster_centers": model.cluster_centers_.tolist(),
        "cluster_sizes": model.cluster_sizes_.tolist(),
        **{key: _values(getattr(model, name, None)) for key, name in _ARRAYS.items()},
        "coreset": _coreset_content(getattr(model, "coreset_", None)),
        "releases": [_release_content(release) for release in model.releases_],
        "statement": model.privacy_statement_.to_dict(),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def profile_to_json(profile: Profile) -> str:
    """Return the text of a profile's file: its answers, and what follows from them."""
    content = {
        "format": PROFILE_FORMAT,
        "private": profile.privacy_statement.private,
        "clusters": profile.clusters,
        "n_clusters": len(profile.sizes.values),
        "sizes": _interval_content(profile.sizes),
        "columns": [
            {
                "declared": column.column.to_dict(),
                "labels": list(column.labels),
                "shares": _interval_content(column.shares),
                "means": None if column.means is None else _interval_content(column.means),
            }
            for column in profile.columns
        ],
        "releases": [_release_content(release) for release in profile.releases],
        "statement": profile.privacy_statement.to_dict(),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _profile(content: Mapping[str, Any]) -> Profile:
    columns = tuple(column_from_dict(column["declared"]) for column in content["columns"])
    releases = tuple(_release(release) for release in content["releases"])
    names = tuple(column.name for column in columns)
    statement = _statement(content, "profile", content["n_clusters"], names, releases)
    k, numbers = content["n_clusters"], sum(column.number is not None for column in columns)
    sizes = [k * sum(len(column.labels) for column in columns), k * (numbers + 1)]
    if (
        k > POINTS_MAX
        or [len(release.answer) for release in releases] != sizes[: 1 + (numbers > 0)]
    ):
        raise ValueError("its answers are not those of its columns and clusters")
    if any(not release.scale > 0 for release in releases):
        raise ValueError("its answers have no noise")
    return Profile.of(content["clusters"], columns, k, releases, statement)


def _interval_content(intervals: Intervals) -> dict[str, Any]:
    return {name: side.tolist() for name, side in _fields(intervals).items()}


def _release_content(release: Release) -> dict[str, Any]:
    return {**_fields(release), "answer": release.answer.tolist()}


def _from_content(content: Mapping[str, Any]) -> Any:
    domain = domain_from_dict(content["domain"])
    parameters = dict(content["parameters"])
    if parameters["epsilon"] is None:
        parameters["epsilon"] = math.inf
    centers = _array(content["cluster_centers"], (-1, domain.center.size))
    k = len(centers)
    if max(k, len((content["coreset"] or {"points": ()})["points"])) > POINTS_MAX:
        raise ValueError(f"it has more than {POINTS_MAX:,} centres or points")
    names = content["columns"]
    n_columns = _n_columns(domain, names)
    if names is not None:
        "".join(names).encode("utf-8")  # half a letter is no text
        if not len(names) == len(set(names)) == n_columns:
            raise ValueError("its columns have no names of their own, or are not those it bounds")
    _check_places(domain, centers)
    arrays: dict[str, Any] = {}
    for key in _ARRAYS:
        if content[key] is not None:
            arrays[key] = _array(content[key], centers.shape if key == "center_stderr" else (k,))
            if (arrays[key] < 0).any():
                raise ValueError(f"{key} has a negative number, which no error or radius is")
    coreset = None
    if content["coreset"] is not None:
        coreset = _coreset(content["coreset"], domain.center.size)
        _check_places(domain, coreset.points)
    releases = tuple(_release(release) for release in content["releases"])
    described = n_columns if names is None else tuple(names)
    model = ClusterModel(
        estimator=content["estimator"],
        parameters=parameters,
        domain=domain,
        n_features_in=n_columns,
        feature_names_in=None if names is None else tuple(names),
        n_rows=int(content["n_rows"]),
        cluster_centers=centers,
        cluster_sizes=_array(content["cluster_sizes"], (k,)),
        releases=releases,
        privacy_statement=_statement(content, "fit", k, described, releases),
        coreset=coreset,
        **arrays,
    )
    fitted = getattr(estimators, content["estimator"]).from_model(model)
    if isinstance(domain, Ball):
        # A radius is from the origin; a ball around public rows has another middle.
        fitted.set_params(radius=None if domain.middle.any() else domain.radius)
    elif isinstance(domain, Box) and (
        parameters["scale"] == "none" or (domain.weights == 1).all()  # a pair has no weights
    ):
        fitted.set_params(bounds=(domain.lower, domain.upper))
    return fitted


def _check_places(domain: Domain, points: FloatArray) -> None:
    """Refuse points that no fit could have released: from beyond the bounds none comes back."""
    within = domain.to_units(domain.to_ball(points))
    if not np.allclose(within, points, rtol=ROUNDING, atol=ROUNDING * float(domain.reach.max())):
        raise ValueError("it has a centre or a point beyond its own bounds")


def _n_columns(domain: Domain, names: list[str] | None) -> int:
    """Return how many columns the table of a model has; declared ones go by their names."""
    if domain.uses and names != list(domain.uses):
        raise ValueError("its columns are not those it declares")
    return domain.n_features


def _statement(
    content: Mapping[str, Any],
    kind: str,
    n_clusters: int,
    columns: tuple[str, ...] | int,
    releases: tuple[Release, ...],
) -> Statement:
    """Return the statement of a file; refuse one that the file's own content contradicts."""
    if content["private"] != content["statement"]["private"]:
        raise ValueError("it says of itself what its statement does not")
    noiseless = content["statement"]["run"]["epsilon"] is None
    statement = Statement.from_dict(content["statement"], lines_of(releases, noiseless))
    run = statement.run
    kinds = ("profile",) if kind == "profile" else ("fit", "refit")
    described = statement.n_clusters, statement.columns
    if statement.kind not in kinds or described != (n_clusters, columns):
        raise ValueError("its statement is about something else")
    if kind == "fit" and not statement.estimator == run.estimator == content["estimator"]:
        raise ValueError("its statement is about another estimator")
    if run.noise != noise_of(releases):
        raise ValueError("it says of its noise what its answers do not")
    spent = sum((release.charge for release in releases), Spend())
    if not noiseless and not spent.within(run.reserved):
        raise ValueError("its answers cost more than it guarantees")
    return statement


def _coreset_content(coreset: Coreset | None) -> dict[str, Any] | None:
    if coreset is None:
        return None
    parts = {"points": coreset.points, "weights": coreset.weights, **_fields(coreset.precision)}
    return {name: part.tolist() for name, part in parts.items()}


def _coreset(content: Mapping[str, Any], n_columns: int) -> Coreset:
    points = _array(content["points"], (-1, n_columns))
    rest = {
        name: _array(value, (len(points),)) for name, value in content.items() if name != "points"
    }
    return Coreset(points, rest.pop("weights"), Precision(**rest))


def _release(content: Mapping[str, Any]) -> Release:
    answer = np.array(content["answer"], dtype=np.int64)
    answer.setflags(write=False)
    return Release(**{**content, "answer": answer, "charge": Spend(**content["charge"])})


def _fields(record: Any) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {name: asdict(v) if isinstance(v, Spend) else v for name, v in fields.items()}


def _array(values: Any, shape: tuple[int, ...]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    fits = array.ndim == len(shape) and all(
        wanted in (-1, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"an array has the shape {array.shape}, not {shape}")
    return array


def _values(array: FloatArray | None) -> Any:
    return None if array is None else array.tolist()


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if plain == math.inf else plain


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
