"""Shows the dark twin of a figure on dark pages: ``NAME-dark.svg`` beside ``NAME.svg``."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class DarkTwins(SphinxTransform):
    """Put the dark twin of an image after it; the theme shows one of them."""

    default_priority = 200  # before images are collected

    def apply(self) -> None:
        """Look for twins of all images of a page."""
        folder = Path(self.app.srcdir) / Path(self.env.docname).parent
        for image in list(self.document.findall(nodes.image)):
            file = Path(image["uri"])
            twin = file.with_name(f"{file.stem}-dark{file.suffix}")
            if file.suffix == ".svg" and (folder / twin).exists():
                dark = image.deepcopy()
                dark["uri"] = twin.as_posix()
                image["classes"].append("only-light")
                dark["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, dark)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run on every page."""
    app.add_transform(DarkTwins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
