"""Bugs in what clients of a federation accept as a request, and in what engines add up."""

from __future__ import annotations

from mutations.base import Mutation

WIRE = (
    Mutation(
        "numbers of any type added up",
        "engines/base.py",
        "if type(array) is not np.ndarray or array.dtype != np.int64:",
        "if type(array) is not np.ndarray:",
        "tests/engines/test_base.py::test_values_of_another_dtype_are_refused",
    ),
    Mutation(
        "a query rebuilt without its constructors",
        "engines/federated/wire.py",
        "    made = kind(**sent)\n",
        "    made = object.__new__(kind)\n"
        "    for name, value in sent.items():\n"
        "        object.__setattr__(made, name, value)\n",
        "tests/engines/federated/test_wire.py::test_request_that_fails_with_one_row_only_is_refused",
    ),
    Mutation(
        "a query's points not on the grid",
        "engines/federated/wire.py",
        "            if not is_on_grid(value):\n",
        "            if not np.isfinite(value).all():\n",
        "tests/engines/federated/test_wire.py::test_points_off_the_grid_are_refused",
    ),
    Mutation(
        "what a constructor changed, put back",
        "engines/federated/wire.py",
        "if getattr(made, name).tobytes() != frozen_points(value, value.ndim).tobytes():",
        "if value.ndim < 0:",
        "tests/queries/test_registry.py::test_what_a_constructor_changes_is_not_put_back",
    ),
    Mutation(
        "a query's fields of any type",
        "engines/federated/wire.py",
        "    if not all(_is_a(value, declared[name]) for name, value in sent.items()):\n",
        "    if not all(name in declared for name in sent):\n",
        "tests/engines/federated/test_wire.py::test_field_of_another_type_or_size_is_refused",
    ),
    Mutation(
        "a result of any length",
        "engines/federated/_request.py",
        "if not 1 <= self.query.size <= most or not",
        "if not",
        "tests/engines/federated/test_request.py::test_parts_that_do_not_agree_are_refused",
    ),
    Mutation(
        "columns that are not those of the domain",
        "engines/federated/_request.py",
        "if not self.domain.fits(self.columns) or (",
        "if (",
        "tests/engines/federated/test_request.py::test_parts_that_do_not_agree_are_refused",
    ),
    Mutation(
        "rows of a profile for any query",
        "engines/federated/_request.py",
        "<= most or not _belong_together(self.query, self.domain):",
        "<= most:",
        "tests/engines/federated/test_request.py::test_rows_of_a_profile_are_for_its_queries_only",
    ),
    Mutation(
        "points of another width than rows",
        "kernels/projection.py",
        "    if not fits:\n",
        "    if width == 0:\n",
        "tests/kernels/test_projection.py::test_points_of_another_width_are_refused",
    ),
    Mutation(
        "a query made without a rehearsal",
        "engines/federated/client.py",
        "    rehearse(request)\n",
        "",
        "tests/engines/federated/test_rehearsal.py"
        "::test_query_for_rows_of_another_width_is_refused_with_and_without_rows",
    ),
    Mutation(
        "noise by other bounds than the client's",
        "engines/federated/client.py",
        "    if (request.sensitivity, request.size) != (query.sensitivity, query.size):\n",
        "    if request.size != query.size:\n",
        "tests/queries/test_registry.py"
        "::test_client_with_other_bounds_under_the_same_name_refuses_before_it_reads",
    ),
    Mutation(
        "a rehearsal that looks at no bounds",
        "engines/federated/_rehearsal.py",
        "    if len(together.values) != len(rows) or not kept_rows(query, together).all():\n",
        "    if len(together.values) != len(rows):\n",
        "tests/engines/federated/test_rehearsal.py::test_query_that_does_not_do_as_it_declares_is_noticed",
    ),
    Mutation(
        "vectors cut anew",
        "sources/schema.py",
        "found.check_lengths(base)",
        "pass",
        "tests/engines/federated/test_rehearsal.py::test_vectors_of_another_length_are_not_cut_anew",
    ),
    Mutation(
        "a sample by what the server knows",
        "engines/federated/client.py",
        "request.sampling_exponent, secrets.token_bytes(KEY_BYTES))",
        "request.sampling_exponent, request.fit * 2)",
        "tests/engines/federated/test_sample_store.py::test_a_key_is_fresh_and_kept_nowhere",
    ),
    Mutation(
        "a sample drawn again",
        "engines/federated/_sample_store.py",
        'if _is_first(file.with_suffix(".used")):\n            engine.write(file)',
        "if not file.exists():\n            engine.write(file)",
        "tests/engines/federated/test_sample_store.py::test_a_sample_is_drawn_once",
    ),
    Mutation(
        "one sample for all domains",
        "engines/federated/client.py",
        "about = (request.sampling_exponent, request.columns, request.domain, request.unit)",
        "about = (request.sampling_exponent, request.unit)",
        "tests/engines/federated/test_sample_store.py::test_a_sample_is_of_one_domain",
    ),
    Mutation(
        "marks of a logarithm that decrease",
        "domains/_log_scale.py",
        "marks = np.clip(np.maximum.accumulate(10.0**logs - shift), lower, upper)",
        "marks = np.maximum.accumulate(10.0**logs - shift)",
        "tests/domains/test_ruler.py::test_marks_between_close_bounds_do_not_decrease",
    ),
)
