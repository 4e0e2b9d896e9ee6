"""What `nox -s release` does: build twice, write the bill of materials, try the wheel elsewhere."""
