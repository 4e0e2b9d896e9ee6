"""Folders of table formats are refused, however their files are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.conformance import people, write_parquet

from privclust.errors import UnreadableFileError
from privclust.sources.files import list_files


@pytest.mark.parametrize(
    ("sign", "kind"),
    [
        ("_delta_log/0.json", "Delta"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("metadata/v1.metadata.json", "Iceberg"),
    ],
)
def test_files_of_a_table_format_are_refused(sign: str, kind: str, tmp_path: Path) -> None:
    table, link = tmp_path / "visits", tmp_path / "some.parquet"
    file = write_parquet(people(9), table / "ward=1" / "part.parquet")
    (table / sign).parent.mkdir()
    (table / sign).touch()
    link.symlink_to(file)
    for path in (table, file, table / "*" / "*.parquet", link, [link]):
        with pytest.raises(UnreadableFileError, match=kind):
            list_files(path)
