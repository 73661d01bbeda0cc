"""Comparison, gate, pytest plugin and notebook display."""

import json
import random

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


def test_a_baseline_of_too_few_queries_has_no_verdict():
    qrels, good, _ = systems(queries=5)
    with pytest.raises(rankgauge.GateError, match="no verdict: 5 queries with a score in both .* and 6 are needed"):
        rankgauge.assert_quality(qrels, good, measures="AP", baseline=good)


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
