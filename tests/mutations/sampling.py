"""Bugs of samples: inclusion bits that are known, shared, or follow from other rows."""

from __future__ import annotations

from mutations.base import Mutation

SAMPLING = (
    Mutation(
        "sample cut off at its limit",
        "engines/_row_buffer.py",
        "        if self._size > ROWS_BYTES:\n            self._write()\n",
        "        if self._size > ROWS_BYTES:\n            self._parts.pop()\n",
        "tests/engines/test_row_buffer.py::test_all_rows_are_kept_in_order_whatever_the_limit",
    ),
    Mutation(
        "seeded sample",
        "privacy/noise.py",
        "return secrets.token_bytes(32)",
        'return b"0123456789abcdef" * 2',
        "tests/privacy/test_curator_sample.py::test_each_fit_has_a_fresh_key_of_256_bits",
    ),
    Mutation(
        "files that share inclusion bits",
        "engines/spark/_tasks.py",
        "yield Cells(cells, (place << _PART_ROWS) + row)",
        "yield Cells(cells, row)",
        "tests/engines/spark/test_tasks.py::test_every_row_is_in_one_part_and_has_an_address_of_its_own",
    ),
    Mutation(
        "an inclusion bit by place, not by id",
        "engines/memory.py",
        "chosen = included(unit_words(key, self.ids), sampling_exponent)",
        "chosen = included(row_words(key, 0, len(self.starts)), sampling_exponent)",
        "tests/engines/test_unit_ids.py::test_new_unit_changes_no_other_inclusion_bit",
    ),
    Mutation(
        "a sample drawn again by its inclusion bits",
        "engines/sampling.py",
        "return self._seen > self._capacity << self.sampling_exponent",
        "return sum(len(words) for words, _ in self._parts) > self._capacity",
        "tests/engines/test_reserve.py::test_sampling_rate_of_a_reserve_follows_from_the_number_of_rows_alone",
    ),
    Mutation(
        "a key in the ledger",
        "privacy/curator.py",
        "return serialize(query) + of.encode()",
        "return serialize(query) + of.encode() + self._key",
        "tests/privacy/test_curator_sample.py::test_a_key_is_in_no_release_and_not_in_the_ledger",
    ),
)
