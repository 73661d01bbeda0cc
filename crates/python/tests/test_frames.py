"""Data frames of pandas, polars and Arrow, and data frames as results."""

import math
import pathlib
import sys

import pandas
import polars
import pyarrow
import pytest
from test_evaluate import synthetic

import rankgauge

MEASURES = "nDCG@10 AP RR P@5"


def rows(nested, number):
    table = {"query_id": [], "doc_id": [], number: []}
    for query, documents in nested.items():
        for document, value in documents.items():
            table["query_id"].append(query)
            table["doc_id"].append(document)
            table[number].append(value)
    return table


@pytest.fixture(scope="module")
def data():
    qrels, run = synthetic()
    expected = rankgauge.evaluate(qrels, run, MEASURES, per_query=True)
    return rows(qrels, "relevance"), rows(run, "score"), expected


def categorical(table):
    frame = pandas.DataFrame(table)
    return frame.assign(query_id=frame["query_id"].astype("category"), doc_id=frame["doc_id"].astype("category"))


def in_chunks(table):
    whole = pyarrow.table(table)
    return pyarrow.concat_tables([whole.slice(0, 333), whole.slice(333, 7), whole.slice(340)])


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame,
        polars.DataFrame,
        pyarrow.table,
        categorical,
        in_chunks,
        lambda table: pandas.DataFrame(table).astype({"query_id": object, "doc_id": object}),
        lambda table: polars.DataFrame(table).with_columns(polars.col("query_id").cast(polars.Categorical)),
        lambda table: pyarrow.table(table).to_reader(),
        lambda table: pandas.DataFrame(table).sample(frac=1, random_state=3),
    ],
)
def test_frames_equal_dictionaries(data, frame):
    qrels, run, expected = data
    result = rankgauge.evaluate(
        rankgauge.Qrels.from_df(frame(qrels), "query_id", "doc_id", "relevance"),
        rankgauge.Run.from_df(frame(run), "query_id", "doc_id", "score"),
        MEASURES,
        per_query=True,
    )
    assert result.per_query == expected.per_query
    assert result == expected


def test_usual_names_of_columns_are_found(data):
    qrels, run, expected = data
    named = pandas.DataFrame(qrels).rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    of_ranx = pandas.DataFrame(run).rename(columns={"query_id": "q_id"})
    assert rankgauge.evaluate(named, of_ranx, MEASURES) == expected
    with pytest.raises(ValueError, match="no column of grades was found; the columns are qid, docno, x"):
        rankgauge.Qrels.from_df(named.rename(columns={"label": "x"}))
    with pytest.raises(ValueError, match="no column is called `rank`"):
        rankgauge.Run.from_df(of_ranx, score_col="rank")


def test_whole_numbers_are_ids():
    qrels = pandas.DataFrame({"qid": [1, 1, 2], "docid": [10, 11, 10], "rel": [1, 0, 1]})
    run = polars.DataFrame({"qid": [1, 2], "docid": [10, 11], "score": [1.5, 1]})
    assert rankgauge.evaluate(qrels, run, "RR", per_query=True).per_query == {"1": {"RR": 1.0}, "2": {"RR": 0.0}}


def test_without_pyarrow_columns_are_lists(data, monkeypatch):
    qrels, run, expected = data
    frames = pandas.DataFrame(qrels), pandas.DataFrame(run)

    def missing(*_, **__):
        raise ImportError("pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", missing)
    assert rankgauge.evaluate(*frames, MEASURES) == expected


def test_wrong_values_are_named():
    run = {"query_id": ["q", "q"], "doc_id": ["a", "a"], "score": [1.0, 2.0]}
    qrels = {"q": {"a": 1}}
    with pytest.raises(rankgauge.RunError, match="document `a` is returned again for query `q`"):
        rankgauge.evaluate(qrels, polars.DataFrame(run), "RR")
    with pytest.raises(rankgauge.RunError, match="run:2: `score` is null"):
        rankgauge.evaluate(qrels, polars.DataFrame({**run, "score": [1.0, None]}), "RR")
    with pytest.raises(rankgauge.RunError, match="the column `score` is of type .*it needs numbers"):
        rankgauge.evaluate(qrels, polars.DataFrame({**run, "score": ["1", "2"]}), "RR")
    with pytest.raises(rankgauge.RunError, match="not a number"):
        rankgauge.evaluate(qrels, polars.DataFrame({**run, "doc_id": ["a", "b"], "score": [1.0, math.nan]}), "RR")
    twice = {"query_id": ["q", "q"], "doc_id": ["a", "a"], "relevance": [1, 0]}
    with pytest.raises(rankgauge.GoldError, match="qrels:2"):
        rankgauge.Qrels.from_df(polars.DataFrame(twice))
    with pytest.raises(rankgauge.GoldError, match="qrels is empty"):
        rankgauge.Qrels.from_df(polars.DataFrame(twice).head(0))


def test_results_are_frames(data):
    qrels, run, expected = data
    result = rankgauge.evaluate(pandas.DataFrame(qrels), pandas.DataFrame(run), MEASURES, per_query=True)
    frame = result.to_df()
    assert list(frame.columns) == ["query_id", "nDCG@10", "AP", "RR", "P@5"]
    assert frame.set_index("query_id")["AP"].to_dict() == {q: s["AP"] for q, s in expected.per_query.items()}
    assert result.to_polars(per_query=False)["mean"].to_list() == list(expected.values())
    assert list(rankgauge.evaluate(polars.DataFrame(qrels), polars.DataFrame(run), "P@5").to_df()["measure"]) == ["P@5"]


def test_importing_needs_no_other_package():
    import subprocess

    code = (
        "import sys; [sys.modules.__setitem__(name, None) for name in ('numpy', 'pandas', 'polars', 'pyarrow')]\n"
        "import rankgauge, rankgauge.client\n"
        "assert rankgauge.evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}, 'RR')['RR'] == 1.0"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("name", ["pandas.parquet", "polars.arrow", "polars.arrows", "pandas.feather"])
def test_files_of_frames(name):
    data = pathlib.Path(__file__).parents[3] / "tests" / "data" / "columnar"
    for gold in ("gold.parquet", "gold.arrow", "gold.csv"):
        assert rankgauge.evaluate(data / gold, data / name, "RR")["RR"] == 0.5
