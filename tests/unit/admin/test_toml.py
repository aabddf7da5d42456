"""What is written reads back."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.admin.local.toml import toml_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
DOCUMENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    TEXT,
    st.recursive(
        TEXT | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
        lambda inner: st.dictionaries(TEXT, inner, min_size=1, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(DOCUMENTS)
def test_documents_read_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml_of(document)) == document


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"prefix": "a"}, 'prefix = "a"\n'),
        ({"kafka": {"extra": {"sasl.password": "x"}}}, '[kafka.extra]\n"sasl.password" = "x"\n'),
        ({"a": {"b": 1, "c": {"d": True}}, "e": 0.5}, "e = 0.5\n[a]\nb = 1\n[a.c]\nd = true\n"),
    ],
)
def test_it_is_how_people_write_it(document: dict[str, Any], text: str) -> None:
    assert toml_of(document) == text
