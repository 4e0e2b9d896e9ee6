"""Tables of Delta and Iceberg that others write to, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog


class Delta:
    """A Delta table that others write to."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder / "delta")

    def write(self, table: Any) -> None:
        write_deltalake(self.place, table, mode="append")

    def erase(self, condition: str) -> None:
        DeltaTable(self.place).delete(condition)

    def table(self) -> Any:
        return DeltaTable(self.place)

    def compact(self) -> None:
        """Write all rows anew, into fewer files."""
        DeltaTable(self.place).optimize.compact()

    def clean(self) -> None:
        """Write all rows anew and remove what no longer belongs to the newest version."""
        self.compact()
        table = DeltaTable(self.place)
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    def end(self) -> None:
        """Nothing is held."""


class DeltaFolder(Delta):
    """A Delta table that is named by its folder."""

    def table(self) -> Any:
        return self.place


class Iceberg:
    """An Iceberg table that others write to."""

    def __init__(
        self, folder: Path, warehouse: str | None = None, properties: dict[str, str] | None = None
    ) -> None:
        place = f"sqlite:///{folder}/catalogue.db"
        self.catalogue = SqlCatalog(
            "local", uri=place, warehouse=warehouse or f"file://{folder}", **(properties or {})
        )
        self.catalogue.create_namespace("clinic")

    def write(self, table: Any) -> None:
        self.catalogue.create_table_if_not_exists("clinic.visits", table.schema).append(table)

    def erase(self, condition: str) -> None:
        self.loaded().delete(condition)

    def loaded(self) -> Any:
        return self.catalogue.load_table("clinic.visits")

    def table(self) -> Any:
        return self.loaded()

    def compact(self) -> None:
        """Overwrite all rows, into fewer files."""
        table = self.loaded()
        table.overwrite(table.scan().to_arrow())

    def clean(self) -> None:
        """Overwrite all rows and remove files that no longer belong to the newest snapshot."""
        before = {task.file.file_path for task in self.loaded().scan().plan_files()}
        self.compact()
        for path in before:
            Path(path.removeprefix("file://")).unlink()

    def end(self) -> None:
        self.catalogue.engine.dispose()


class IcebergFile(Iceberg):
    """An Iceberg table that is named by its newest metadata file."""

    def table(self) -> Any:
        return self.loaded().metadata_location.removeprefix("file://")
