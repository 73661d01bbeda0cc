"""Evaluation from dictionaries, data frames and files."""

import json
import math
import random
import warnings

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


def test_a_relevance_level_above_all_grades_is_warned_about():
    shares = {"q1": {"a": 0.9, "b": 0.1}}
    with pytest.warns(UserWarning, match="no document counts as relevant: the highest grade is 0.9"):
        assert rankgauge.evaluate(shares, RUN, "P@2")["P@2"] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rankgauge.evaluate(shares, RUN, "P@2", relevance_level=0.5)["P@2"] == 0.5


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


def table(path, text):
    path.write_text(text)
    return str(path)


def test_results_with_the_id_of_the_query_are_left_out(tmp_path):
    qrels = {"q": {"b": 1}}
    run = {"q": {"q": 3.0, "x": 2.0, "b": 1.0}}
    path = table(tmp_path / "r.run", "q Q0 q 1 3 t\nq Q0 x 2 2 t\nq Q0 b 3 1 t\n")
    for source in (run, path, rankgauge.Run(run)):
        assert rankgauge.evaluate(qrels, source, "RR")["RR"] == pytest.approx(1 / 3)
        assert rankgauge.evaluate(qrels, source, "RR", ignore_identical_ids=True)["RR"] == 0.5


def test_ids_are_composed_on_request(tmp_path):
    # The run is in decomposed letters, the judgements are not.
    qrels, run = {"질의": {"caf\u00e9": 1}}, {"질의": {"x": 2.0, "cafe\u0301": 1.0}}
    gold = table(tmp_path / "g.qrels", "질의 0 caf\u00e9 1\n")
    path = table(tmp_path / "r.run", "질의 Q0 x 1 2 t\n질의 Q0 cafe\u0301 2 1 t\n")
    for judged in (qrels, gold):
        for source in (run, path, rankgauge.Run(run)):
            with pytest.warns(UserWarning, match="only in Unicode normalisation: 1, such as `cafe"):
                assert rankgauge.evaluate(judged, source, "RR")["RR"] == 0.0
            assert rankgauge.evaluate(judged, source, "RR", normalise_ids="nfc")["RR"] == 0.5
    made = rankgauge.Qrels(qrels, normalise_ids="nfc")
    assert rankgauge.evaluate(made, run, "RR")["RR"] == 0.5
    assert rankgauge.evaluate(made, run, "RR", normalise_ids="nfc")["RR"] == 0.5
    with pytest.raises(ValueError, match="normalise_ids comes too late for judgements that are read"):
        rankgauge.evaluate(rankgauge.Qrels(qrels), run, "RR", normalise_ids="nfc")
    with pytest.raises(ValueError, match="normalise_ids is `nfc`, not `NFD`"):
        rankgauge.evaluate(qrels, run, "RR", normalise_ids="NFD")


def test_columns_of_tables_are_stated(tmp_path):
    gold = table(tmp_path / "gold.csv", "topic,article,value\nq,a,0\nq,b,1\n")
    run = table(tmp_path / "run.csv", "topic,article,points\nq,a,2\nq,b,1\n")
    of_gold, of_run = "query=topic,document=article,grade=value", "query=topic,document=article,score=points"
    scores = rankgauge.evaluate(gold, run, "RR", gold_columns=of_gold, columns=of_run)
    assert scores["RR"] == 0.5
    made = rankgauge.Qrels.read(gold, columns=of_gold)
    ranked = rankgauge.Run.read(run, columns="query=1,document=2,score=3")
    assert rankgauge.evaluate(made, ranked, "RR") == scores
    missing = "no column is called `other`; the columns are topic, article, "
    with pytest.raises(rankgauge.GoldError, match=missing + "value"):
        rankgauge.Qrels.read(gold, columns=of_gold + ",text=other")
    with pytest.raises(rankgauge.RunError, match=missing + "points"):
        rankgauge.Run.read(run, columns="query=topic,document=article,score=other")
    with pytest.raises(ValueError, match="gold_columns: the column of the grade is missing"):
        rankgauge.evaluate(gold, run, "RR", gold_columns="query,document")
    with pytest.raises(ValueError, match="^columns states the columns of a table, and a dictionary has none"):
        rankgauge.evaluate(QRELS, RUN, "RR", columns=of_run)
    with pytest.raises(ValueError, match="gold_columns states the columns of a table"):
        rankgauge.evaluate(QRELS, RUN, "RR", gold_columns=of_gold)


def test_options_that_come_too_late_are_refused():
    qrels, run = rankgauge.Qrels(QRELS, relevance_level=2), rankgauge.Run(RUN, order="served")
    assert rankgauge.evaluate(qrels, run, "P@2", relevance_level=2, order="served")["P@2"] == 0.25
    with pytest.raises(ValueError, match="relevance_level comes too late for judgements that are read"):
        rankgauge.evaluate(qrels, run, "P@2", relevance_level=1)
    with pytest.raises(ValueError, match="order comes too late for a run that is read; pass order to Run"):
        rankgauge.evaluate(qrels, run, "P@2", order="score")
    with pytest.raises(ValueError, match="columns comes too late for a run"):
        rankgauge.evaluate(qrels, run, "P@2", columns="query,document,score")


def test_measures_of_ir_measures_are_read_as_they_print():
    import ir_measures

    scores = rankgauge.evaluate(QRELS, RUN, [ir_measures.NumRelRet, ir_measures.NumRet, ir_measures.NumQ], per_query=True)
    assert scores.per_query["q1"] == {"NumRelRet(rel=1)": 1.0, "NumRet": 3.0, "NumQ": 1.0}
    assert scores[ir_measures.NumRelRet] == 2.0
