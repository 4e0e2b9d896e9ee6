"""Fields of an estimator's model, as attributes with the underscore that scikit-learn uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, Self, TypeVar, cast, overload

from privclust.models.cluster_model import ClusterModel

Value = TypeVar("Value")


class Released(Generic[Value]):
    """An attribute that an estimator's model gives; it is missing where the model has none.

    Parameters
    ----------
    read : callable
        Gives the attribute of a model.
    may_be_none : bool, default=False
        Whether None is what there is to know. By default the attribute is then missing.

    Examples
    --------
    >>> class Estimator:
    ...     cluster_centers_ = Released(lambda model: model.cluster_centers)
    >>> hasattr(Estimator(), "cluster_centers_")
    False
    """

    def __init__(
        self, read: Callable[[ClusterModel], Value | None], *, may_be_none: bool = False
    ) -> None:
        self._read, self._may_be_none = read, may_be_none
        self.__doc__ = None  # the estimator's docstring describes the attribute

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, estimator: object, owner: type) -> Value: ...
    def __get__(self, estimator: object | None, owner: type) -> Value | Self:
        if estimator is None:
            return self
        model = vars(estimator).get("model_")
        value = None if model is None else self._read(model)
        if value is None and not (self._may_be_none and model is not None):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return cast(Value, value)

    def __set__(self, estimator: object, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} is part of what a fit released and cannot be set.")
