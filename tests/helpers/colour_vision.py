"""How colours look to eyes with a red or green deficiency, and how far two colours are apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Color = NDArray[np.float64]

VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
"""Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB becomes."""
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(color: str) -> Color:
    """Return the linear RGB of ``#rrggbb``."""
    parts = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def seen(color: str, vision: str) -> Color:
    """Return a colour in CIELAB as somebody with this vision sees it."""
    xyz = _TO_XYZ @ np.clip(VISION[vision] @ linear(color), 0.0, 1.0) / _WHITE
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: str, other: str, vision: str) -> float:
    """Return how far two colours are apart; 2 is just noticeable side by side."""
    return float(np.linalg.norm(seen(one, vision) - seen(other, vision)))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it, from 1 to 21."""
    dark, light = sorted(float((_TO_XYZ @ linear(color))[1]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)
