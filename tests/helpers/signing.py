"""A key to sign with, its passphrase in a file, and a folder with a model, approval and page."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from helpers.fitted_models import four_clusters

from privclust import save
from privclust.models.approval.approval_file import Approval
from privclust.models.approval.keys import new_key
from privclust.models.report.approval_page import approval_page

PASSPHRASE = "seven wooden spoons"


def write_keys(folder: Path, name: str = "officer") -> None:
    """Write NAME.key, NAME.pub and the file 'passphrase', as their owner would keep them."""
    private, public = new_key(PASSPHRASE.encode())
    for file, content in ((f"{name}.key", private), ("passphrase", PASSPHRASE.encode())):
        (folder / file).write_bytes(content)
        (folder / file).chmod(0o600)
    (folder / f"{name}.pub").write_bytes(public)


def write_release(folder: Path) -> tuple[Path, Path]:
    """Write a model, and a page that names its hash."""
    model, page = folder / "model.json", folder / "page.html"
    save(four_clusters(), model, overwrite=True)
    page.write_text(f"<p>SHA-256 {sha256(model.read_bytes()).hexdigest()}</p>")
    return model, page


def write_approved(folder: Path) -> None:
    """Write a model, its approval, and the page of both."""
    model, page = write_release(folder)
    approval = Approval(
        dataset="visits",
        purpose="staffing",
        requested_by="A. Ito",
        approved_by="B. Sow",
        date="2026-11-17",
        model=sha256(model.read_bytes()).hexdigest(),
    )
    (folder / "approval.json").write_text(approval.to_json())
    page.write_text(approval_page(four_clusters().model_, approval))
