"""Tables in the shape of real ones: what their columns look like, not their rows."""

from __future__ import annotations

import numpy as np

from benchmarks.robust.drawing import N_ROWS, Drawn, drawn
from benchmarks.robust.shapes import roads
from privclust.kernels.grid import FloatArray


def doctor_visits(rng: np.random.Generator) -> Drawn:
    """Visits in a year, a third of them none, with age, household, conditions and income."""
    frail = rng.gamma(1.0, 1.0, N_ROWS)
    visits = rng.poisson(3.0 * frail)
    other = rng.poisson(0.5 * frail) * (rng.random(N_ROWS) < 0.4)
    age = np.clip(rng.gamma(3.0, 9.0, N_ROWS), 0, 65).round()
    household = 1 + rng.poisson(2.5, N_ROWS)
    conditions = rng.poisson(4 + 6 * frail)
    income = np.exp(9.2 + 0.7 * rng.normal(size=N_ROWS))
    rows = np.column_stack([visits, other, age, household, conditions, income])
    return drawn(rows, [0, 0, 0, 1, 0, 0], [80, 40, 100, 12, 60, 100_000])


def capital_gains(rng: np.random.Generator) -> Drawn:
    """Gains and losses of which 92 and 95 % are zero, a few at the cap; age, hours, education."""
    age = np.clip(17 + rng.gamma(2.2, 10.0, N_ROWS), 17, 90).round()
    hours = np.where(rng.random(N_ROWS) < 0.47, 40, rng.normal(40, 14, N_ROWS)).round()
    education = np.clip(rng.normal(10, 2.6, N_ROWS), 1, 16).round()
    gains = _mostly_zero(rng, 0.92, np.exp(8.6 + 0.9 * rng.normal(size=N_ROWS)))
    gains[rng.random(N_ROWS) < 0.005] = 99_999
    losses = _mostly_zero(rng, 0.95, rng.normal(1_900, 300, N_ROWS))
    rows = np.column_stack([age, hours, education, gains, losses])
    return drawn(rows, [16, 0, 1, 0, 0], [100, 100, 16, 99_999, 5_000])


def insurance_claims(rng: np.random.Generator) -> Drawn:
    """Claims of which 96 % are none, with a Pareto tail; ages, bonus and density of the place."""
    claims = _mostly_zero(rng, 0.96, 500 * (1 + rng.pareto(1.3, N_ROWS)))
    vehicle = rng.gamma(1.6, 4.5, N_ROWS).round()
    driver = np.clip(18 + rng.gamma(3.5, 8.0, N_ROWS), 18, 95).round()
    bonus = np.where(rng.random(N_ROWS) < 0.55, 50, 50 + rng.gamma(2.0, 12.0, N_ROWS)).round()
    density = np.exp(6.0 + 1.9 * rng.normal(size=N_ROWS))
    rows = np.column_stack([claims, vehicle, driver, bonus, density])
    return drawn(rows, [0, 0, 18, 50, 0], [100_000, 40, 100, 230, 30_000])


def retail(rng: np.random.Generator) -> Drawn:
    """Days since the last purchase, number of purchases and money spent, of a shop's customers."""
    lately = rng.random(N_ROWS) < 0.6
    recency = np.where(lately, rng.exponential(30, N_ROWS), rng.uniform(0, 365, N_ROWS)).round()
    frequency = np.floor(1 + rng.pareto(1.4, N_ROWS))
    money = frequency * np.exp(3.3 + 0.8 * rng.normal(size=N_ROWS))
    return drawn(np.column_stack([recency, frequency, money]), 0.0, [365, 200, 20_000])


def taxi(rng: np.random.Generator) -> Drawn:
    """Pickups in fine streets, at hot spots and two airports, within the bounds of a region."""
    found = roads(rng, 45_000, 60, 1.0).rows
    second = rng.random(len(found)) < 0.03
    found[second] = [-0.35, 0.12] + 0.003 * rng.normal(size=(int(second.sum()), 2))
    return drawn(found, -1.0, 1.0)


def hospital_stays(rng: np.random.Generator) -> Drawn:
    """Length of stay, cost, age with births at 0, and number of diagnoses."""
    birth = rng.random(N_ROWS) < 0.12
    age = np.where(birth, 0, np.clip(rng.normal(62, 20, N_ROWS), 1, 105)).round()
    diagnoses = rng.poisson(np.where(birth, 2, 3 + age / 12))
    stay = np.ceil(np.exp(0.9 + 0.05 * diagnoses + 0.8 * rng.normal(size=N_ROWS)))
    cost = stay * np.exp(7.4 + 0.6 * rng.normal(size=N_ROWS))
    rows = np.column_stack([stay, cost, age, diagnoses])
    return drawn(rows, 0.0, [120, 200_000, 110, 30])


def _mostly_zero(rng: np.random.Generator, zeros: float, values: FloatArray) -> FloatArray:
    """Return values of which a share is replaced by 0."""
    return np.where(rng.random(len(values)) < zeros, 0.0, values)
