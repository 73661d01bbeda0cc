"""Comparison, gate, pytest plugin and notebook display."""

import inspect
import json
import random

import pyarrow
import pytest

import rankgauge

pytest_plugins = ["pytester"]


def systems(queries=60, seed=1):
    """Judgements, a good run and a run that is clearly worse."""
    source = random.Random(seed)
    qrels, good, bad = {}, {}, {}
    for number in range(queries):
        query = f"q{number}"
        ids = [f"d{n}" for n in range(20)]
        qrels[query] = {id: 1 for id in source.sample(ids, 5)}
        good[query] = {id: source.random() + (id in qrels[query]) for id in ids}
        bad[query] = {id: source.random() + 0.2 * (id in qrels[query]) for id in ids}
    return qrels, good, bad


def test_comparison_finds_the_worse_run():
    qrels, good, bad = systems()
    comparison = rankgauge.compare(qrels, {"good": good, "bad": bad}, "nDCG@10 AP", resamples=1000)
    document = comparison.to_dict()
    assert document["runs"] == ["good", "bad"]
    assert document["comparisons"][0]["verdicts"] == {"nDCG@10": "worse", "AP": "worse"}
    frame = comparison.to_df()
    assert list(frame["measure"]) == ["nDCG@10", "AP"]
    assert (frame["verdict"] == "worse").all()
    assert (frame["mean_a"] > frame["mean_b"]).all() and (frame["ci95_high"] < 0).all()
    assert "worse" in str(comparison)
    assert "worse" in comparison._repr_html_()
    assert comparison.to_polars().shape[0] == 2


def test_comparisons_have_the_options_of_an_evaluation(tmp_path):
    qrels, good, bad = systems(queries=8)
    runs = {"good": good, "bad": bad}
    measures = "P@5 NumRet"
    for options in (
        {"judged_only": True},
        {"max_results": 3},
        {"compat": "trec_eval@10"},
        {"ignore_identical_ids": True},
        {"normalise_ids": "nfc"},
    ):
        rows = rankgauge.compare(qrels, runs, measures, resamples=100, **options).to_df()
        for column, run in (("mean_a", good), ("mean_b", bad)):
            alone = rankgauge.evaluate(qrels, run, measures, per_query=True, **options).per_query
            for measure, mean in zip(rows["measure"], rows[column]):
                values = [scores[measure] for scores in alone.values()]
                assert mean == pytest.approx(sum(values) / len(values)), options
    utility = "utility.1,-1,0,1"
    means = [rankgauge.compare(qrels, runs, utility, resamples=100, documents=n).to_df()["mean_a"][0] for n in (20, 30)]
    assert means[1] - means[0] == pytest.approx(10)
    gold, table = tmp_path / "gold.csv", tmp_path / "run.csv"
    gold.write_text("topic,article,value\nq,a,1\nr,b,1\n")
    table.write_text("topic,article,points\nq,a,1\nr,b,1\n")
    comparison = rankgauge.compare(
        gold,
        [table, table],
        "RR",
        resamples=100,
        gold_columns="query=topic,document=article,grade=value",
        columns="query=topic,document=article,score=points",
    )
    assert comparison.to_dict()["comparisons"][0]["measures"]["RR"]["b"] == 1.0


def test_comparisons_state_the_overlap_of_results():
    qrels = {"q": {"a": 1}, "r": {"a": 1}}
    one = {"q": {"a": 3.0, "b": 2.0}, "r": {"a": 1.0}}
    other = {"q": {"b": 3.0, "a": 2.0}, "r": {"a": 1.0}}
    comparison = rankgauge.compare(qrels, {"one": one, "other": other}, "RR", resamples=100, rbo=0.9)
    (overlap,) = comparison.overlaps
    assert (overlap["a"], overlap["b"], overlap["p"]) == ("one", "other", 0.9)
    # Agreement 0 at depth 1 and 1 from depth 2 on: 1 - (1 - p).
    assert overlap["queries"] == {"q": pytest.approx(0.9), "r": pytest.approx(1.0)}
    assert overlap["mean"] == pytest.approx(0.95)
    assert "Overlap of the results" in str(comparison)
    assert rankgauge.compare(qrels, {"one": one, "other": other}, "RR", resamples=100).overlaps == []
    with pytest.raises(ValueError, match="rbo: a number between 0 and 1"):
        rankgauge.compare(qrels, [one, other], "RR", rbo=1)


def test_scores_of_before_are_compared():
    qrels, good, bad = systems()
    scores = {
        name: rankgauge.evaluate(qrels, run, "nDCG@10", per_query=True).per_query
        for name, run in (("good", good), ("bad", bad))
    }
    before = rankgauge.compare_scores(scores, resamples=1000).to_dict()
    now = rankgauge.compare(qrels, {"good": good, "bad": bad}, "nDCG@10", resamples=1000).to_dict()
    assert before["comparisons"] == now["comparisons"]


def test_runs_that_cannot_be_compared():
    qrels, good, _ = systems()
    with pytest.raises(rankgauge.CompareError, match="two or more runs are needed, 1 given"):
        rankgauge.compare(qrels, [good], "AP")
    with pytest.raises(ValueError, match="alpha"):
        rankgauge.compare(qrels, [good, good], "AP", alpha=2)


def test_gate_of_bounds():
    qrels, good, bad = systems()
    gate = rankgauge.Gate(require=["nDCG@10>=0.9"])
    assert gate.check(rankgauge.evaluate(qrels, good, "nDCG@10")).passed
    result = gate.check(rankgauge.evaluate(qrels, bad, "nDCG@10"))
    assert not result.passed
    with pytest.raises(rankgauge.GateError, match=r"the gate failed: 1 of 1 checks\n  run: nDCG@10 >= 0.9: nDCG@10 is"):
        result.raise_on_failure()
    with pytest.raises(rankgauge.MeasureError, match="which was not computed"):
        gate.check(rankgauge.evaluate(qrels, bad, "AP"))
    with pytest.raises(rankgauge.MeasureError, match="has no relation"):
        rankgauge.evaluate(qrels, bad, "AP").check("AP")


def test_gate_of_a_comparison():
    qrels, good, bad = systems()
    runs = {"good": good, "bad": bad}
    result = rankgauge.Gate().check(rankgauge.compare(qrels, runs, "AP", resamples=1000))
    assert [check.outcome for check in result.checks] == ["failed"]
    junit = rankgauge.compare(qrels, runs, "AP", resamples=1000).report("junit", fail_on="worse")
    assert "<failure" in junit
    same = rankgauge.compare(qrels, {"a": good, "b": good}, "AP", resamples=1000)
    assert rankgauge.Gate(fail_on="difference").check(same)


def test_assert_quality():
    qrels, good, bad = systems()
    assert rankgauge.assert_quality(qrels, good, "nDCG@10 >= 0.9")["nDCG@10"] > 0.9
    with pytest.raises(AssertionError):
        rankgauge.assert_quality(qrels, bad, ["nDCG@10>=0.9"])
    with pytest.raises(AssertionError, match="AP is not worse than in baseline"):
        rankgauge.assert_quality(qrels, bad, measures="AP", baseline=good)
    del good["q0"], good["q1"]
    # A query without an answer scores 0.
    with pytest.raises(AssertionError):
        rankgauge.assert_quality(qrels, good, "Success@10>=0.99")
    with pytest.raises(ValueError, match="nothing to check"):
        rankgauge.assert_quality(qrels, good)


def test_assert_quality_has_the_options_of_evaluations_and_comparisons():
    def options(function):
        return set(inspect.signature(function).parameters)

    of_results = {"runs", "per_query", "rbo"}
    assert options(rankgauge.evaluate) | options(rankgauge.compare) <= options(rankgauge.assert_quality) | of_results


def test_options_of_assert_quality_take_effect(tmp_path):
    qrels = {f"q{n}": {"a": 1, "b": 0} for n in range(8)}
    run = {query: {query: 4.0, "x": 3.0, "b": 2.0, "a": 1.0} for query in qrels}
    for options, reciprocal_rank in (
        ({}, 0.25),
        ({"ignore_identical_ids": True}, pytest.approx(1 / 3)),
        ({"judged_only": True}, 0.5),
        ({"max_results": 3}, 0.0),
        ({"relevance_level": 0}, pytest.approx(1 / 3)),
        ({"order": "ascending"}, 1.0),
    ):
        result = rankgauge.assert_quality(qrels, run, measures="RR", baseline=run, resamples=100, **options)
        assert result["RR"] == reciprocal_rank, options
    irrelevant = {**qrels, "r": {"a": 0}}
    assert rankgauge.assert_quality(irrelevant, run, "RR>=0.1")["RR"] < 0.25
    assert rankgauge.assert_quality(irrelevant, run, "RR>=0.1", has_relevant=True)["RR"] == 0.25
    utility = "utility.1,-1,0,1"
    means = [
        rankgauge.assert_quality(qrels, run, measures=utility, baseline=run, resamples=100, documents=n)
        for n in (20, 30)
    ]
    few, many = (next(iter(it.values())) for it in means)
    assert many - few == pytest.approx(10)
    composed, decomposed = "\uac00", "\u1100\u1161"
    with pytest.raises(rankgauge.GateError):
        rankgauge.assert_quality({"q": {composed: 1}}, {"q": {decomposed: 1}}, "RR>=1")
    rankgauge.assert_quality({"q": {composed: 1}}, {"q": {decomposed: 1}}, "RR>=1", normalise_ids="nfc")
    gold, table = tmp_path / "gold.csv", tmp_path / "run.csv"
    gold.write_text("topic,article,value\nq,a,1\n")
    table.write_text("topic,article,points\nq,a,1\nq,b,2\n")
    with pytest.raises(rankgauge.GateError, match="bm25: RR >= 0.9: RR is 0.5000"):
        rankgauge.assert_quality(
            gold,
            table,
            "RR>=0.9",
            name="bm25",
            gold_columns="query=topic,document=article,grade=value",
            columns="query=topic,document=article,score=points",
        )


def test_assert_quality_reads_a_stream_once():
    qrels, good, bad = systems(queries=8)
    rows = [(query, document, score) for query, scores in good.items() for document, score in scores.items()]
    stream = pyarrow.table(dict(zip(("query_id", "doc_id", "score"), map(list, zip(*rows))))).to_reader()
    result = rankgauge.assert_quality(qrels, stream, measures="AP", baseline=bad, resamples=100)
    assert result == rankgauge.evaluate(qrels, good, "AP", complete=True)


def test_a_baseline_of_too_few_queries_has_no_verdict():
    qrels, good, bad = systems(queries=5)
    with pytest.raises(rankgauge.GateError, match="no verdict: 5 queries with a score in both .* and 6 are needed"):
        rankgauge.assert_quality(qrels, good, measures="AP", baseline=bad)


def test_plugin_of_pytest(pytester):
    pytester.makepyfile(
        """
        QRELS = {"q": {"a": 1}}

        def test_good(assert_quality):
            assert_quality(QRELS, {"q": {"a": 1.0}}, require=["RR>=0.9"])

        def test_bad(assert_quality):
            assert_quality(QRELS, {"q": {"b": 2.0, "a": 1.0}}, require=["RR>=0.9"])
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*run: RR >= 0.9: RR is 0.5000*"])


def test_json_of_a_report_has_the_checks():
    qrels, _, bad = systems()
    report = json.loads(rankgauge.evaluate(qrels, bad, "nDCG@10").report("json", require=["nDCG@10>=0.99"]))
    assert "failed" in json.dumps(report)
