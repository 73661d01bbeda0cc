"""The blocks of docs/python.md run in their order, each with the names of those before it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"

# A block about Kafka needs a broker: make test-connect runs such programs.
NOT_RUN = ("from rankgauge.client import Client",)


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_every_block_of_the_page_runs(request: pytest.FixtureRequest) -> None:
    pd = pytest.importorskip("pandas")
    queries = [f"q{number}" for number in range(1, 9)]
    rows = [(query, url, grade, score) for query in queries for url, grade, score in [("a", 2, 1.9), ("b", 0, 2.1)]]
    better = {query: {"a": 2.1, "b": 1.9} for query in queries}
    names = {
        "df": pd.DataFrame(rows, columns=["query", "url", "grade", "bm25"]),
        "queries": queries,
        "hybrid": better,
        "search": better.__getitem__,
    }
    run = 0
    for block in blocks():
        if block.startswith(NOT_RUN):
            continue
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
        run += 1
        if "def test_search" in block:
            names["test_search"](request.getfixturevalue("assert_quality"))
    assert run >= 5, f"only {run} blocks"
