"""Data frames of pandas, polars and Arrow, and data frames as results."""

import math
import pathlib
import sys
import warnings

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


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_other_columns_of_a_frame_are_not_read(data, frame):
    qrels, run, expected = data
    notes = [None] * len(qrels["query_id"])
    assert rankgauge.evaluate(frame({**qrels, "note": notes}), frame(run), MEASURES) == expected


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


def columns(rows, *names):
    return dict(zip(names, map(list, zip(*rows)), strict=True))


# Judgements and a run as in docs/measures.md: `a` and `c` are relevant to several subtopics.
JUDGED = [("1", "x", "a", 1), ("1", "y", "a", 2), ("1", "x", "b", 1), ("1", "y", "c", 1), ("1", "z", "c", 1), ("2", "x", "d", 1)]
RESULTS = {"1": {"b": 3.0, "a": 2.0, "c": 1.0}, "2": {"d": 1.0}}
OF_SUBTOPICS = "StRecall@1 alpha_nDCG@2 P_IA@2 AP_IA nDCG@2"
FRAMES = [pandas.DataFrame, polars.DataFrame, pyarrow.table]


def without_pyarrow(monkeypatch):
    def missing(*_, **__):
        raise ImportError("pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", missing)


def of_subtopics(qrels, **options):
    return rankgauge.evaluate(qrels, RESULTS, OF_SUBTOPICS, per_query=True, **options).per_query


@pytest.fixture
def subtopics_of_file(tmp_path):
    path = tmp_path / "div.qrels"
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in JUDGED))
    expected = of_subtopics(path)
    assert expected["1"]["StRecall@1"] == pytest.approx(1 / 3)
    assert expected["2"]["StRecall@1"] == 1.0
    return expected


@pytest.mark.parametrize("name", ["subtopic_id", "Subtopic", "iteration"])
@pytest.mark.parametrize("frame", FRAMES)
def test_subtopics_of_frames_are_those_of_a_file(subtopics_of_file, frame, name, monkeypatch):
    table = columns(JUDGED, "query_id", name, "doc_id", "relevance")
    assert of_subtopics(frame(table)) == subtopics_of_file
    renamed = columns(JUDGED, "q", "intent", "d", "g")
    named = rankgauge.Qrels.from_df(frame(renamed), "q", "d", "g", "intent")
    assert of_subtopics(named) == subtopics_of_file
    stated = "query=q,document=d,grade=g,subtopic=intent"
    assert of_subtopics(frame(renamed), gold_columns=stated) == subtopics_of_file
    assert named.to_dict()["1"] == {"a": 2, "b": 1, "c": 1}
    without_pyarrow(monkeypatch)
    assert of_subtopics(pandas.DataFrame(table)) == subtopics_of_file


def test_subtopics_of_files_of_frames(subtopics_of_file, tmp_path):
    table = columns(JUDGED, "query_id", "iteration", "doc_id", "relevance")
    pandas.DataFrame(table).to_csv(tmp_path / "div.csv", index=False)
    pandas.DataFrame(table).to_parquet(tmp_path / "div.parquet")
    for name in ("div.csv", "div.parquet"):
        assert of_subtopics(tmp_path / name) == subtopics_of_file


def test_subtopics_may_be_missing_or_numbers(monkeypatch):
    numbers = {"x": 1.0, "y": 2.0, "z": math.nan}
    rows = [(query, numbers[subtopic], document, grade) for query, subtopic, document, grade in JUDGED]
    table = columns(rows, "query_id", "subtopic", "doc_id", "relevance")
    texts = {**table, "subtopic": [None if math.isnan(it) else str(int(it)) for it in table["subtopic"]]}
    expected = of_subtopics(polars.DataFrame(texts))
    # Without `z`, which would be a third subtopic.
    assert expected["1"]["StRecall@1"] == 0.5
    categories = pandas.DataFrame(texts).astype({"subtopic": "category"})
    frames = [pandas.DataFrame(table), polars.DataFrame(table), pyarrow.table(texts), categories]
    for frame in frames:
        assert of_subtopics(frame) == expected
    without_pyarrow(monkeypatch)
    assert of_subtopics(pandas.DataFrame(table)) == of_subtopics(pandas.DataFrame(texts)) == expected


@pytest.mark.parametrize("frame", FRAMES)
def test_a_column_without_any_value_states_no_subtopics(frame):
    plain = {"query_id": ["1", "2"], "doc_id": ["a", "d"], "relevance": [1, 2]}
    empty = frame({**plain, "subtopic": [None, None]})
    assert of_subtopics(empty) == of_subtopics(frame(plain))
    nothing = [None, None]
    for column in ("query_id", "doc_id", "relevance"):
        with pytest.raises(rankgauge.GoldError, match=f"qrels:1: `{column}` is null; fill it"):
            of_subtopics(frame({**plain, column: nothing}))
    with pytest.raises(rankgauge.RunError, match="run:1: `score` is null; fill it"):
        rankgauge.Run.from_df(frame({"query_id": ["1", "2"], "doc_id": ["a", "d"], "score": nothing}))


def test_a_column_of_equal_subtopics_states_none():
    rows = [(query, "0", document, grade) for query, _, document, grade in JUDGED[1:]]
    table = columns(rows, "query_id", "iteration", "doc_id", "relevance")
    plain = {name: values for name, values in table.items() if name != "iteration"}
    with pytest.raises(rankgauge.GoldError, match="qrels:4: query `1` judges document `c` again, first at qrels:3"):
        of_subtopics(polars.DataFrame(table))
    once = [0, 1, 2, 4]
    assert of_subtopics(polars.DataFrame(table)[once]) == of_subtopics(polars.DataFrame(plain)[once])
    twice = columns([*JUDGED, JUDGED[1]], "query_id", "subtopic", "doc_id", "relevance")
    with pytest.raises(rankgauge.GoldError, match="qrels:7: query `1` judges document `a` again, first at qrels:1"):
        of_subtopics(pandas.DataFrame(twice))


RANKED = [("1", "b", 2), ("1", "a", 1), ("1", "c", 10), ("2", "d", 1)]


@pytest.mark.parametrize("frame", FRAMES)
def test_runs_of_ranks_are_judged_by_rank(frame, tmp_path, monkeypatch):
    qrels = {"1": {"b": 1}, "2": {"d": 1}}
    table = columns(RANKED, "qid", "docno", "rank")
    path = tmp_path / "ranked.csv"
    pandas.DataFrame(table).to_csv(path, index=False)
    expected = rankgauge.evaluate(qrels, path, "RR AP", per_query=True).per_query
    assert expected["1"]["RR"] == 0.5

    def scores(run, **options):
        return rankgauge.evaluate(qrels, run, "RR AP", per_query=True, **options).per_query

    assert scores(frame(table)) == scores(frame(table), order="rank") == expected
    assert scores(frame(table), compat="trec_eval@10", max_results=2) == expected
    run = rankgauge.Run.from_df(frame(table))
    assert [list(documents) for documents in run.to_dict().values()] == [["a", "b", "c"], ["d"]]
    assert scores(run.to_dict()) == expected
    both = {**table, "score": [3.0, 2.0, 1.0, 1.0]}
    assert scores(frame(both))["1"]["RR"] == 1.0
    assert scores(frame(both), order="rank") == expected
    other = columns(RANKED, "q", "d", "place")
    assert scores(frame(other), columns="query=q,document=d,rank=place") == expected
    assert scores(rankgauge.Run.from_df(frame(other), "q", "d", rank_col="place")) == expected
    distances = {**table, "distance": [0.5, 0.25, 0.75, 1.0]}
    assert scores(frame(distances)) == expected
    listed = {"qid": table["qid"], "docno": table["docno"]}
    assert scores(frame(listed), order="served")["1"]["RR"] == 1.0
    without_pyarrow(monkeypatch)
    assert scores(pandas.DataFrame(table)) == expected
    assert scores(pandas.DataFrame(listed), order="served")["1"]["RR"] == 1.0


@pytest.mark.parametrize("frame", FRAMES)
def test_ranks_that_contradict_the_scores_are_warned_about(frame, tmp_path, monkeypatch):
    qrels = {"1": {"b": 1}}
    table = {"qid": ["1", "1"], "docno": ["a", "b"], "rank": [1, 2], "score": [0.1, 0.2]}
    sentence = "ranks and scores order 1 of 1 consecutive results differently, first of query `1`: the scores rise"

    def warned(run, **options):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            rankgauge.evaluate(qrels, run, "RR", **options)
        return [str(it.message) for it in found]

    (found,) = warned(frame(table), name="bm25")
    assert found.startswith(f"bm25: {sentence}")
    path = tmp_path / "ranked.csv"
    pandas.DataFrame(table).to_csv(path, index=False)
    assert warned(path)[0].endswith(found.removeprefix("bm25: "))
    with pytest.warns(UserWarning, match=f"one: {sentence}"):
        rankgauge.compare(qrels, {"one": frame(table), "other": frame(table)}, "RR", resamples=100)
    assert len(warned(frame({**table, "rank": [1.0, None], "score": [0.1, 0.2]}))) == 0
    for other in (
        {**table, "rank": [2, 1]},
        {**table, "rank": ["first", "second"]},
        {name: values for name, values in table.items() if name != "rank"},
        {"distance" if name == "score" else name: values for name, values in table.items()},
    ):
        assert warned(frame(other)) == [], other
    of_distances = {"distance" if name == "score" else name: values for name, values in table.items()}
    (contradiction,) = warned(frame({**of_distances, "rank": [2, 1]}))
    assert "ranks and distances order 1 of 1" in contradiction
    for order in ("rank", "score", "ascending", "served"):
        assert warned(frame(table), order=order) == []
    without_pyarrow(monkeypatch)
    assert warned(pandas.DataFrame(table), name="bm25") == [found]
    assert warned(pandas.DataFrame({**table, "rank": ["first", None]})) == []


def test_columns_of_runs_that_are_missing_are_named():
    frame = polars.DataFrame(columns(RANKED, "qid", "docno", "place"))
    with pytest.raises(ValueError, match="no column of scores or ranks was found; the columns are qid, docno, place"):
        rankgauge.Run.from_df(frame)
    with pytest.raises(ValueError, match="no column of ranks was found.*: name it with rank_col="):
        rankgauge.Run.from_df(frame, order="rank")
    with pytest.raises(ValueError, match="no column is called `points`; the columns are qid, docno, place"):
        rankgauge.Run.from_df(frame, columns="query=qid,document=docno,score=points")
    with pytest.raises(ValueError, match="columns: `grade` is no content of a column"):
        rankgauge.Run.from_df(frame, columns="query=qid,document=docno,grade=place")
    with pytest.raises(ValueError, match="columns states all columns; leave out q_id_col"):
        rankgauge.Run.from_df(frame, "qid", columns="query=qid,document=docno,rank=place")
    unranked = polars.DataFrame({"qid": ["1"], "docno": ["a"], "rank": [math.nan]})
    with pytest.raises(rankgauge.RunError, match="has no rank"):
        rankgauge.Run.from_df(unranked)


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
