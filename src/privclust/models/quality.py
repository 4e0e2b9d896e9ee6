"""How good a fit is: the mean squared distance of rows to their centre, with its errors."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace

from privclust.models.formatting import percent_with_error, two_digits, with_error

MEASURED_AS = "quality"
"""Under which name a fit measures it."""
HIDDEN = (
    "Noise hides how far rows lie from their centre: there are too few of them for this epsilon."
)
NO_UNIT = (
    "These distances have no unit, so that all columns count: no row within the bounds lies "
    "farther than 1 from their middle."
)
"""What a distance in radii of the domain is, in words."""
MORE = " it is no less, and noise hides by how much it is more"
TOLD_APART = 2.0
"""Standard errors above 0 from which on a loss is reported as a number of its own."""


@dataclass(frozen=True)
class Quality:
    """The loss of a fit, measured on all rows and the final centres.

    Distances are in radii of the domain, as `transform` gives them, and losses in squares of these.
    Standard errors are from the noise alone. A loss that noise hides may come out below 0.

    Attributes
    ----------
    cap : float
        A distance: 2.5 times the clusters' typical radius, by rows or by clusters, whichever is
        wider. Rows far out hardly change it.
    capped_loss, capped_loss_stderr : float
        Mean squared distance of rows to their centre, where rows beyond `cap` count as if they lay
        at that distance, and its standard error.
    loss, loss_stderr : float
        Mean squared distance of rows to their centre, and its standard error. That is larger,
        because rows may lie as far out as the bounds allow.
    far_share, far_share_stderr : float or None
        Which part of the loss lies beyond `cap`, with its standard error: so much less it would be
        if no row counted as farther. All of the loss of those rows is more. Rather less than the
        truth, since the farthest rows count as nearer ones where noise would hide them; rather more
        within four errors of 0, since it is None if noise hides it. Of fits to rows none of which
        is farther, at most one of a hundred has a number here.

    Examples
    --------
    >>> found = Quality(0.5, 0.0625, 0.001, 0.07, 0.03, 0.4, 0.1)
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    Mean squared distance of rows to their centre, distances capped at 0.5: 0.0625 ± 0.0010.
    Without the cap: 0.070 ± 0.030.
    Rows farther away than the cap have 40 ± 10 % of it or more.
    These distances have no unit, so that all columns count: no row within the bounds lies farther
    than 1 from their middle.
    """

    cap: float
    capped_loss: float
    capped_loss_stderr: float
    loss: float
    loss_stderr: float
    far_share: float | None = None
    far_share_stderr: float | None = None

    def __post_init__(self) -> None:
        numbers = [number for number in astuple(self) if number is not None]
        if not all(map(math.isfinite, numbers)) or self.cap <= 0:
            raise ValueError("losses, shares and errors are finite numbers, and caps above 0")
        if min(self.capped_loss_stderr, self.loss_stderr, self.far_share_stderr or 0.0) < 0:
            raise ValueError("a loss has a negative error, which no error is")
        if (self.far_share is None) != (self.far_share_stderr is None):
            raise ValueError("a share of the loss comes with its error")
        if not 0 <= (self.far_share or 0.0) <= 1:
            raise ValueError("a share of the loss lies between 0 and 1")

    def without_errors(self) -> Quality:
        """Return the same figures, known exactly."""
        share_error = None if self.far_share is None else 0.0
        return replace(self, capped_loss_stderr=0.0, loss_stderr=0.0, far_share_stderr=share_error)

    def sentences(self, scale: float | None = None) -> list[str]:
        """Return what there is to say, a sentence at a time.

        Parameters
        ----------
        scale : float, optional
            How many of the user's units a radius of the domain is, if it is the same for all
            columns. Without it figures are in radii.
        """
        unit = 1.0 if scale is None else scale
        area = unit * unit
        mean = "Mean squared distance of rows to their centre"
        loss = _figure(self.loss * area, self.loss_stderr * area)
        if self.loss == self.capped_loss and self.loss_stderr == self.capped_loss_stderr:
            lines = [f"{mean}: {loss}."]
        else:
            capped = _figure(self.capped_loss * area, self.capped_loss_stderr * area)
            cap = two_digits(self.cap * unit)
            lines = [f"{mean}, distances capped at {cap}: {capped}."]
            lines.append(f"Without the cap{': ' + loss if self._shows_more else MORE}.")
        if self.far_share is not None and self.far_share_stderr is not None:
            lines.append(
                "Rows farther away than the cap have "
                f"{percent_with_error(self.far_share, self.far_share_stderr)} % of it or more."
            )
        if scale is None:
            lines.append(NO_UNIT)
        return lines

    @property
    def _shows_more(self) -> bool:
        """Whether the loss is a limit, or no less than with a cap, as noise can make it."""
        return self.loss >= self.capped_loss or self.loss < TOLD_APART * self.loss_stderr

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__


def _figure(value: float, error: float) -> str:
    """Return a loss with its error, or what it lies below if it cannot be told from 0."""
    if value >= TOLD_APART * error:
        return with_error(value, error)
    return f"below {two_digits(max(value, 0.0) + TOLD_APART * error)}"
