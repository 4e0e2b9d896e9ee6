"""The audit log is appended to, line by line, and nobody else may read it."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from privclust.node.audit_log import AuditLog
from privclust.privacy.accounting import Budget


def test_lines_are_appended(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file, "digest")
    log.write(12.7, "a1", "credit", "queued", fit="f1", seconds=3.5, budget=Budget(0.5, 1e-6))
    log.write(13.0, "a1", "credit", "cancelled", fit="f1")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["queued", "cancelled"]
    assert lines[0] == {
        "time": 12,
        "analyst": "a1",
        "table": "credit",
        "outcome": "queued",
        "fit": "f1",
        "seconds": 3.5,
        "epsilon": 0.5,
        "delta": 1e-6,
        "policy": "digest",
    }


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file, before = tmp_path / "audit.jsonl", os.umask(0)
    try:
        AuditLog(file, "digest").write(1, "a1", "credit", "queued")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_goes_on_when_it_was_moved_away(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file, "digest")
    log.write(1, "a1", "credit", "queued")
    file.rename(tmp_path / "old")
    log.write(2, "a1", "credit", "queued")
    assert len(file.read_text().splitlines()) == 1


def test_line_cannot_be_split(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    AuditLog(file, "digest").write(1, 'a"\n', "\u2028", "queued")
    assert len(file.read_bytes().splitlines()) == 1


def test_lines_of_several_threads_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog(file, "digest")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: log.write(number, "a" * 200, "t", "queued"), range(200)))
    times = [json.loads(line)["time"] for line in file.read_text().splitlines()]
    assert sorted(times) == list(range(200))


def test_link_or_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError):  # noqa: PT011 - the system's own words
            AuditLog(tmp_path / name, "digest").write(1, "a1", "credit", "queued")
    assert not (tmp_path / "other").exists()
