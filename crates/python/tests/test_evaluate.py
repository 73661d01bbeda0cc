"""Evaluation from dictionaries, data frames and files."""

import json
import math
import random

import pytest
import pytrec_eval

import rankgauge

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}, "q3": {"e": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"d": 0.5, "y": 0.5}, "q9": {"z": 1.0}}


def synthetic(queries=40, results=60, judged=15, seed=7):
    """Judgements and a run with tied scores and ids of several alphabets."""
    source = random.Random(seed)
    qrels, run = {}, {}
    for number in range(queries):
        query = f"질의 {number}"
        ids = [f"문서-{source.randrange(10**6)}" for _ in range(results * 2)]
        ids = list(dict.fromkeys(ids))
        qrels[query] = {id: source.choice([-1, 0, 0, 1, 2, 3]) for id in source.sample(ids, judged)}
        run[query] = {id: float(source.randrange(20)) for id in source.sample(ids, results)}
    return qrels, run


def test_means_and_scores_by_query():
    result = rankgauge.evaluate(QRELS, RUN, "P@2 RR", per_query=True)
    assert result == {"P@2": 0.5, "RR": 0.5}  # y sorts before d at an equal score
    assert result.per_query == {"q1": {"P@2": 0.5, "RR": 0.5}, "q2": {"P@2": 0.5, "RR": 0.5}}
    assert result.missing == ["q3"]
    assert result.unknown == ["q9"]
    assert result.queries == {"P@2": 2, "RR": 2}
    assert json.loads(json.dumps(result)) == {"P@2": 0.5, "RR": 0.5}


def test_complete_scores_unanswered_queries_as_zero():
    result = rankgauge.evaluate(QRELS, RUN, ["RR"], complete=True)
    assert result["RR"] == pytest.approx(1 / 3)


def test_any_spelling_of_a_measure_finds_its_mean():
    result = rankgauge.evaluate(QRELS, RUN, ["ndcg_cut_10", "recip_rank"])
    assert list(result) == ["nDCG@10", "RR"]
    assert result["ndcg_cut_10"] == result["nDCG@10"]
    with pytest.raises(KeyError, match="not computed"):
        result["P@5"]


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_pytrec_eval(seed):
    qrels, run = synthetic(seed=seed)
    peers = {"map", "ndcg", "ndcg_cut_10", "P_5", "recall_10", "recip_rank", "bpref"}
    # pytrec_eval reads whole grades; negative ones are judged, and never relevant.
    theirs = pytrec_eval.RelevanceEvaluator(qrels, peers).evaluate(run)
    ours = rankgauge.evaluate(qrels, run, sorted(peers), per_query=True).per_query
    names = {name: rankgauge.measure_name(name) for name in peers}
    assert ours.keys() == theirs.keys()
    for query, scores in theirs.items():
        for name, score in scores.items():
            assert ours[query][names[name]] == pytest.approx(score, abs=1e-12), (query, name)


def test_large_input_of_several_chunks_equals_small_ones():
    qrels, run = synthetic(queries=1500, results=40)
    whole = rankgauge.evaluate(qrels, run, "nDCG@10 AP", per_query=True).per_query
    assert len(whole) == 1500
    for query in list(qrels)[::100]:
        alone = rankgauge.evaluate({query: qrels[query]}, {query: run[query]}, "nDCG@10 AP", per_query=True)
        assert alone.per_query[query] == whole[query]


def test_qrels_and_runs_are_used_again():
    qrels, run = rankgauge.Qrels(QRELS), rankgauge.Run(RUN, name="bm25")
    assert (len(qrels), qrels.judgements, len(run)) == (3, 5, 3)
    assert qrels.queries() == ["q1", "q2", "q3"]
    assert qrels.to_dict() == QRELS
    assert list(run.to_dict()["q2"]) == ["y", "d"]
    first = rankgauge.evaluate(qrels, run, "RR")
    assert first == rankgauge.evaluate(qrels, run, "RR")
    assert first.name == "bm25"


def test_relevance_level_and_queries_without_relevant_documents():
    assert rankgauge.evaluate(QRELS, RUN, "P@2", relevance_level=2)["P@2"] == 0.25
    assert rankgauge.evaluate(QRELS, RUN, "P@2", relevance_level=2, has_relevant=True)["P@2"] == 0.5


def test_served_order_keeps_the_order_of_the_dictionary():
    run = {"q1": {"x": 0.0, "a": 5.0}}
    assert rankgauge.evaluate(QRELS, run, "RR")["RR"] == 1.0
    assert rankgauge.evaluate(QRELS, run, "RR", order="served")["RR"] == 0.5
    assert rankgauge.evaluate(QRELS, {"q1": {"x": 3.0, "a": 0.1}}, "RR", order="ascending")["RR"] == 1.0
    with pytest.raises(ValueError, match="order is"):
        rankgauge.evaluate(QRELS, run, "RR", order="best")


def test_files_equal_dictionaries(tmp_path):
    qrels, run = synthetic()
    qrels = {key.replace(" ", "-"): grades for key, grades in qrels.items()}
    run = {key.replace(" ", "-"): scores for key, scores in run.items()}
    gold = tmp_path / "gold.qrels"
    gold.write_text("".join(f"{q} 0 {d} {g}\n" for q, ds in qrels.items() for d, g in ds.items()))
    path = tmp_path / "bm25.run"
    path.write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, ds in run.items() for d, s in ds.items()))
    from_files = rankgauge.evaluate(gold, str(path), "nDCG@10 AP", per_query=True)
    from_dicts = rankgauge.evaluate(qrels, run, "nDCG@10 AP", per_query=True)
    assert from_files.name == "bm25"
    assert from_files.per_query == from_dicts.per_query
    assert from_files == from_dicts
    beir = tmp_path / "run.json"
    beir.write_text(json.dumps(run))
    assert rankgauge.evaluate([gold], beir, "nDCG@10 AP") == from_dicts


def test_errors_are_exceptions_with_the_texts_of_the_command(tmp_path):
    with pytest.raises(rankgauge.MeasureError, match="did you mean `nDCG@10`"):
        rankgauge.evaluate(QRELS, RUN, "nDGC@10")
    with pytest.raises(rankgauge.MeasureError, match="user feedback"):
        rankgauge.evaluate(QRELS, RUN, "CTR@10")
    with pytest.raises(rankgauge.MeasureError, match="no measure"):
        rankgauge.evaluate(QRELS, RUN, [])
    with pytest.raises(rankgauge.GoldError, match="missing.qrels: cannot be read"):
        rankgauge.evaluate(tmp_path / "missing.qrels", RUN, "RR")
    with pytest.raises(rankgauge.GoldError, match="qrels is empty"):
        rankgauge.evaluate({}, RUN, "RR")
    with pytest.raises(rankgauge.GoldError, match="the grade 1e\\+?09|1000000000"):
        rankgauge.evaluate({"q1": {"a": 1e9}}, RUN, "RR")
    with pytest.raises(rankgauge.RunError, match="none of its queries is in the gold set"):
        rankgauge.evaluate(QRELS, {"other": {"a": 1.0}}, "RR")
    with pytest.raises(rankgauge.RunError, match="the score of document `a` for query `q1` is not a number"):
        rankgauge.evaluate(QRELS, {"q1": {"a": math.nan}}, "RR")
    with pytest.raises(rankgauge.RunError, match="the run is empty"):
        rankgauge.evaluate(QRELS, {}, "RR")
    assert issubclass(rankgauge.GoldError, rankgauge.RankgaugeError)
    assert issubclass(rankgauge.RankgaugeError, ValueError)


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="the query 1 is a int; ids are texts"):
        rankgauge.evaluate({1: {"a": 1}}, RUN, "RR")
    with pytest.raises(TypeError, match="the document 5 is a int"):
        rankgauge.evaluate(QRELS, {"q1": {5: 1.0}}, "RR")
    with pytest.raises(TypeError, match="the score of document `a` for query `q1` is a str"):
        rankgauge.evaluate(QRELS, {"q1": {"a": "1.0"}}, "RR")
    with pytest.raises(TypeError, match="query `q1` has a list"):
        rankgauge.evaluate(QRELS, {"q1": ["a"]}, "RR")
    with pytest.raises(TypeError, match="qrels of type int"):
        rankgauge.evaluate(3, RUN, "RR")


def test_half_a_character_is_an_exception():
    with pytest.raises(UnicodeEncodeError):
        rankgauge.evaluate(QRELS, {"q1": {"\ud83d": 1.0}}, "RR")


def test_names_of_measures():
    assert rankgauge.measure_name("map_cut_10") == "AP@10"
    assert "nDCG" in rankgauge.measures()
    safe = {rankgauge.mlflow_name(name) for name in ("P@10", "P(rel=2)@10", "nDCG(gain=exp)@10", "RBP(p=0.8)")}
    assert safe == {"P_at_10", "P.rel-2_at_10", "nDCG.gain-exp_at_10", "RBP.p-0.8"}
    result = rankgauge.evaluate(QRELS, RUN, "P@2")
    assert result.mlflow("eval.") == {"eval.P_at_2": 0.5}


def test_reports_are_those_of_the_command():
    result = rankgauge.evaluate(QRELS, RUN, "P@2", per_query=True, name="<bm25>")
    assert json.loads(result.report("json"))["runs"][0]["name"] == "<bm25>"
    assert "P@2" in result.report()
    assert result.report("html").startswith("<!DOCTYPE html>")
    html = result._repr_html_()
    assert "&lt;bm25&gt;" in html and "<td>0.5000</td>" in html
    with pytest.raises(ValueError, match="no format is called"):
        result.report("pdf")
    with pytest.raises(ValueError, match="per_query=True"):
        rankgauge.evaluate(QRELS, RUN, "P@2").per_query


def test_flags_of_trec_eval(tmp_path):
    qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    run = {"q": {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0}}
    path = tmp_path / "r.run"
    path.write_text("".join(f"q Q0 {document} 1 {score} t\n" for document, score in run["q"].items()))
    for source in (run, str(path)):

        def mean(measure, **flags):
            return rankgauge.evaluate(qrels, source, measure, **flags)[measure]

        assert mean("RR") == 0.5
        assert mean("RR", judged_only=True) == 1.0
        assert mean("R@10", max_results=2) == 0.5
        assert rankgauge.evaluate(qrels, source, "utility.1,-1,0,1", documents=10).popitem()[1] == 6.0
        assert list(rankgauge.evaluate(qrels, source, "rbp", compat="trec_eval@10")) != list(
            rankgauge.evaluate(qrels, source, "RBP")
        )
    close = {"q": {"c": 1.0, "x": 1.0 + 1e-12}}
    assert rankgauge.evaluate(qrels, close, "RR")["RR"] == 0.5
    below = {"q": {"c": 1.0 + 1e-12, "x": 1.0}}
    assert rankgauge.evaluate(qrels, below, "RR")["RR"] == 0.5
    assert rankgauge.evaluate(qrels, below, "RR", compat="trec_eval@10")["RR"] == 1.0
    with pytest.raises(ValueError, match="compat: unknown tool `trec_eval@8`"):
        rankgauge.evaluate(qrels, run, "RR", compat="trec_eval@8")
