"""The guard lets nothing about rows escape."""

from __future__ import annotations

import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pytest

from privclust.errors import EngineError
from privclust.kernels.grid import UNIT, FloatArray
from privclust.sources.guard import guarded

CANARY = 1234567.8901234


@guarded
def fail_on(rows: FloatArray, error: type[BaseException] = ValueError) -> None:
    """Fail with a message and local variables that show the rows."""
    seen = rows.tolist()
    try:
        raise KeyError(seen[0])
    except KeyError:
        raise error(f"cannot digest {seen}") from None


@guarded
def warn_about(rows: FloatArray) -> float:
    warnings.warn(f"odd value {rows[0]}", UserWarning, stacklevel=1)
    return float((rows * 1e308)[0] - np.log(-rows)[0])


def debugger_view(error: BaseException) -> str:
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(report.format(chain=True)) + repr(error) + repr(error.__dict__)


@pytest.mark.attack
@pytest.mark.parametrize("error", [ValueError, MemoryError, RecursionError, Warning, EngineError])
def test_a_failure_shows_nothing_of_the_rows(error: type[BaseException]) -> None:
    with pytest.raises(EngineError) as caught:
        fail_on(np.array([CANARY]), error=error)
    text = debugger_view(caught.value)
    assert "1234567" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_all_failures_have_the_same_text_which_says_what_to_do() -> None:
    texts = set()
    for error in (ValueError, MemoryError, OSError):
        with pytest.raises(EngineError, match=r"withheld.*Check that the table") as caught:
            fail_on(np.array([CANARY]), error)
        texts.add(str(caught.value))
    assert len(texts) == 1


@pytest.mark.attack
def test_warnings_are_silenced_and_filters_restored(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    before = list(warnings.filters)
    assert not np.isfinite(warn_about(np.array([CANARY])))
    with pytest.raises(EngineError):
        fail_on(np.array([CANARY]))
    assert not recwarn.list
    assert list(warnings.filters) == before


@pytest.mark.attack
@pytest.mark.parametrize("mode", ["raise", "print", "warn"])
def test_a_users_floating_point_settings_make_no_row_heard(
    mode: Literal["raise", "print", "warn"], capfd: pytest.CaptureFixture[str]
) -> None:
    with np.errstate(all=mode):
        assert not np.isfinite(warn_about(np.array([CANARY])))
    assert capfd.readouterr() == ("", "")


def test_the_user_can_still_interrupt_and_sees_no_rows() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        fail_on(np.array([CANARY]), KeyboardInterrupt)
    text = debugger_view(caught.value)
    assert "1234567" not in text
    assert caught.value.__context__ is None


@pytest.mark.attack
@pytest.mark.parametrize(
    ("raised", "seen"), [(SystemExit, SystemExit), (GeneratorExit, EngineError)]
)
def test_no_kind_of_exit_carries_rows(
    raised: type[BaseException], seen: type[BaseException]
) -> None:
    with pytest.raises(seen) as caught:
        fail_on(np.array([CANARY]), raised)
    text = debugger_view(caught.value)
    assert "1234567" not in text
    assert caught.value.__context__ is None


def test_threads_that_overlap_leave_the_warning_filters_as_they_were() -> None:
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: warn_about(np.array([CANARY])), range(200)))
    assert list(warnings.filters) == before


def test_a_guarded_function_keeps_its_name_text_and_result() -> None:
    @guarded
    def add(first: int, second: int = UNIT) -> int:
        """Add."""
        return first + second

    assert (add.__name__, add.__doc__, add(1), add(1, second=2)) == ("add", "Add.", UNIT + 1, 3)
