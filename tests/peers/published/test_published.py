"""Published tests of other tools, run against the Python package (README.md)."""

import gzip
import importlib
import json
import math
import os
import subprocess
import sys
import tarfile
import unittest
from collections import defaultdict
from pathlib import Path

import ir_measures
import pytest

import rankgauge
import rankgauge.ir_measures

HERE = Path(__file__).parent
# Lines about all queries that are sums.
SUMS = {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"}
# Values of trec_eval 9.0.8 that are computed from floats of 32 bits.
OF_FLOATS = {"rbp", "rbp_resid"}


def known(names):
    """Names that are measures of rankgauge."""
    found = {}
    for name in sorted(names):
        try:
            found[name] = rankgauge.measure_name(name)
        except rankgauge.MeasureError:
            pass
    return found


def columns(path):
    with gzip.open(path, "rt") as file:
        return [line.split() for line in file]


def nested(rows, document, number, convert):
    table = defaultdict(dict)
    for row in rows:
        table[row[0]][row[document]] = convert(row[number])
    return dict(table)


@pytest.mark.parametrize(
    ("expected", "qrels", "results", "options"),
    [
        ("out.test.aq", "qrels.test", "results.test", {}),
        ("out.test.aqc", "qrels.test", "results.trunc", {"complete": True}),
        ("out.test.aql", "qrels.rel_level", "results.test", {"relevance_level": 2}),
    ],
)
def test_files_of_trec_eval(expected, qrels, results, options):
    folder = HERE / "trec_eval"
    printed = defaultdict(dict)
    for measure, query, value in columns(folder / f"{expected}.gz"):
        if measure not in {"runid", "relstring", "relstring_20"} and measure not in SUMS | OF_FLOATS:
            printed[query][measure] = value
    names = known(printed["all"])
    assert len(names) >= 54, names
    judged = nested(columns(folder / f"{qrels}.gz"), 2, 3, int)
    run = nested(columns(folder / f"{results}.gz"), 2, 4, float)
    scores = rankgauge.evaluate(judged, run, list(names.values()), per_query=True, **options)
    compared = 0
    for query, values in printed.items():
        ours = scores if query == "all" else scores.per_query[query]
        for name, canonical in names.items():
            if name in values:
                # Half a digit of what is printed.
                assert ours[canonical] == pytest.approx(float(values[name]), abs=5.0001e-5), (query, name)
                compared += 1
    # Some of the measures are not printed for single queries.
    assert compared >= 2 * len(names)


def test_values_of_pytrec_eval():
    for case in json.loads((HERE / "pytrec_eval.json").read_text()):
        names = {name: rankgauge.measure_name(name) for of in case["scores"].values() for name in of}
        result = rankgauge.evaluate(case["qrels"], case["run"], list(names.values()), per_query=True)
        for query, values in case["scores"].items():
            for name, value in values.items():
                assert result.per_query[query][names[name]] == pytest.approx(value, abs=1e-12), case


def test_values_of_ranx():
    cases = json.loads((HERE / "ranx.json").read_text())
    supported = known({case["measure"] for case in cases})
    assert {"P@5", "R@2", "AP@6", "RR@5", "nDCG@10", "nDCG(gain=exp)@10", "Success@5", "TP@5"} <= set(supported)
    for case in cases:
        if case["measure"] not in supported:
            continue
        qrels = {f"q{n}": judged for n, judged in enumerate(case["qrels"])}
        run = {f"q{n}": {id: 0.0 for id in served} for n, served in enumerate(case["served"])}
        score = rankgauge.evaluate(qrels, run, case["measure"], order="served")[case["measure"]]
        if "digits" in case:
            score = round(score, case["digits"])
        assert score == pytest.approx(case["value"], abs=1e-9), case


# Tests of ir_measures that are about something other than values; its use of ranx fails with pandas 3.
NOT_OF_VALUES = {"test_providers", "test_runtime", "test_util", "test_measures", "test_ranx"}

# The base class and the files of two tests are not in the source package.
BASE = """
import unittest


class BaseMeasureTest(unittest.TestCase):
    def assertMetrics(self, one, other, places=4, not_equal=False):
        one, other = sorted(one), sorted(other)
        self.assertEqual([metric[:2] for metric in one], [metric[:2] for metric in other])
        for metric, expected in zip(one, other):
            check = self.assertNotAlmostEqual if not_equal else self.assertAlmostEqual
            check(metric.value, expected.value, places=places)
"""


@pytest.fixture(scope="module")
def suite_of_ir_measures(tmp_path_factory):
    """Folder with the unit tests of the installed version."""
    folder = tmp_path_factory.mktemp("ir_measures")
    version = ir_measures.__version__
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    download += ["--no-binary", "ir_measures", "--dest", str(folder), f"ir_measures=={version}"]
    subprocess.run(download, check=True, env={**os.environ, "PIP_NO_INPUT": "1"})
    with tarfile.open(folder / f"ir_measures-{version}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    tests = folder / f"ir_measures-{version}" / "tests"
    tests.rename(folder / "suite")
    (folder / "suite" / "__init__.py").touch()
    (folder / "suite" / "base.py").write_text(BASE)
    return folder


def test_suite_of_ir_measures(suite_of_ir_measures, monkeypatch):
    """The tests compute every value twice: with their provider, and with rankgauge."""
    ours = rankgauge.ir_measures.provider
    compared, different = defaultdict(int), []

    def evaluator_of(original):
        def evaluator(self, measures, qrels):
            measures, qrels = list(measures), list(ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter())
            theirs = original(self, measures, qrels)
            mine = [measure for measure in measures if self.supports(measure) and ours.supports(measure)]
            calculate = theirs._iter_calc

            def both(run):
                run = list(ir_measures.util.RunConverter(run).as_namedtuple_iter())
                metrics = list(calculate(run))
                if mine:
                    scores = {(it.query_id, it.measure): it.value for it in ours.iter_calc(mine, qrels, run)}
                for metric in metrics:
                    if metric.measure in mine:
                        compared[f"{self.NAME} {metric.measure}"] += 1
                        value = scores[metric.query_id, metric.measure]
                        # gdeval prints five digits.
                        if not math.isclose(value, metric.value, abs_tol=5.1e-6 if self.NAME == "gdeval" else 1e-9):
                            different.append((self.NAME, metric, value))
                return iter(metrics)

            theirs._iter_calc = both
            return theirs

        return evaluator

    for provider in list(ir_measures.providers.registry.values()):
        if provider is not ours:
            monkeypatch.setattr(type(provider), "_evaluator", evaluator_of(type(provider)._evaluator))
    monkeypatch.syspath_prepend(str(suite_of_ir_measures))
    passed, failed = 0, []
    for path in sorted((suite_of_ir_measures / "suite").glob("test_*.py")):
        if path.stem in NOT_OF_VALUES:
            continue
        module = importlib.import_module(f"suite.{path.stem}")
        for case in (case for of in unittest.defaultTestLoader.loadTestsFromModule(module) for case in of):
            result = unittest.TestResult()
            case.run(result)
            problems = [text for _, text in result.failures + result.errors]
            passed += not problems
            # Another tool that is not installed, or a file that the package leaves out.
            failed += [text for text in problems if "is not available" not in text and "FileNotFoundError" not in text]
    assert not failed, "\n\n".join(failed)
    assert not different, different
    assert passed >= 15 and len(compared) >= 25 and sum(compared.values()) >= 60, (passed, dict(compared))


def test_measures_of_ir_measures_have_its_values():
    """The provider and the usual ones agree on every measure that both have."""
    from ir_measures import AP, ERR, P, R, RBP, RR, Bpref, IPrec, Judged, NumQ, NumRel, NumRelRet, NumRet
    from ir_measures import Rprec, SetAP, SetF, SetP, Success, nDCG

    # gdeval requires ids of queries that are numbers.
    qrels = {"1": {"a": 0, "b": 1, "c": 2, "d": 1, "e": 0}, "2": {"a": 1, "f": 2, "g": 0}, "3": {"a": 1}}
    run = {"1": {"b": 9, "x": 8, "c": 7, "a": 6, "d": 5}, "2": {"g": 3, "y": 2, "f": 1}}
    measures = [P @ 2, P(rel=2) @ 2, R @ 3, RR, RR @ 2, AP, AP(rel=2), AP @ 2, nDCG, nDCG @ 2, nDCG(dcg="exp-log2") @ 2]
    measures += [Success @ 1, IPrec @ 0.5, Bpref, Judged @ 2, RBP(p=0.8, rel=1), ERR @ 3]
    measures += [NumQ, NumRet, NumRelRet, NumRet(rel=2), NumRel]
    measures += [it(judged_only=True) for it in (P @ 2, P(rel=2) @ 3, R @ 2, RR, AP, AP @ 2, nDCG, nDCG @ 2, Rprec)]
    measures += [it(judged_only=True) for it in (Success @ 1, IPrec @ 0.5, SetP, SetP(relative=True), SetF, SetAP)]
    ours = rankgauge.ir_measures.provider
    assert all(ours.supports(measure) for measure in measures)
    reference = {metric[:2]: metric.value for metric in ir_measures.iter_calc(measures, qrels, run)}
    scores = {metric[:2]: metric.value for metric in ours.iter_calc(measures, qrels, run)}
    assert scores.keys() == reference.keys()
    for key, value in reference.items():
        # gdeval prints five digits.
        tolerance = 5.1e-6 if key[1].NAME in {"ERR", "nDCG"} else 1e-9
        assert math.isclose(scores[key], value, abs_tol=tolerance), (key, scores[key], value)


def test_sums_of_ir_measures_are_sums():
    from ir_measures import Accuracy, NumQ, NumRelRet, NumRet

    qrels = {"1": {"a": 1, "b": 1}, "2": {"a": 1}, "3": {"a": 1}}
    run = {"1": {"a": 2.0, "x": 1.5, "b": 1.0}, "2": {"x": 1.0}}
    # Accuracy has no value for a query without a relevant result.
    expected = {NumQ: 2, NumRelRet: 2, NumRet: 4, Accuracy: 0.5, Accuracy(rel=2): math.nan, Accuracy @ 2: 1.0}
    scores = rankgauge.ir_measures.provider.calc_aggregate(list(expected), qrels, run)
    assert scores == pytest.approx(expected, nan_ok=True)
    # Its own providers add values for missing queries if several are combined.
    theirs = {measure: ir_measures.calc_aggregate([measure], qrels, run)[measure] for measure in expected}
    assert theirs == pytest.approx(expected, nan_ok=True)


def test_measures_of_subtopics_are_those_of_pyndeval():
    """Values of pyndeval 0.0.8, as in tests/it/inputs.rs."""
    from ir_measures import AP_IA, ERR_IA, NRBP, P_IA, Qrel, ScoredDoc, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP

    text = "1 1 a 1,1 2 a 1,1 1 b 1,1 2 c 1,1 3 c 1,1 3 d 1,1 2 e 0,1 4 f 0"
    rows = [row.split() for row in text.split(",")]
    qrels = [Qrel(query, document, int(grade), subtopic) for query, subtopic, document, grade in rows]
    run = [ScoredDoc("1", document, 5.0 - rank) for rank, document in enumerate("abxce")]
    expected = {
        ERR_IA @ 3: 0.5625,
        nERR_IA @ 3: 0.7714285714285715,
        alpha_DCG @ 3: 0.5358142624882984,
        alpha_nDCG @ 3: 0.7243989383522972,
        NRBP: 0.609375,
        nNRBP: 0.8297872340425532,
        AP_IA: 0.625,
        P_IA @ 3: 1 / 3,
        StRecall @ 3: 2 / 3,
        alpha_nDCG @ 20: 0.8680280058681222,
        alpha_DCG(alpha=0.25) @ 3: 0.46989105795725294,
        nNRBP(alpha=0.25, beta=0.75): 0.8148505303760848,
    }
    import pandas

    ours = rankgauge.ir_measures.provider
    assert all(ours.supports(measure) for measure in expected)
    for judged in (qrels, iter(qrels), pandas.DataFrame(qrels)):
        scores = ours.calc_aggregate(expected, judged, run)
        assert scores == {measure: pytest.approx(value, abs=1e-12) for measure, value in expected.items()}
    # ir_measures cannot compute these: its filter fails. Unjudged results do not count.
    measures = [it(judged_only=True) @ 3 for it in (alpha_nDCG, P_IA)]
    without_x = [it for it in run if it.doc_id != "x"]
    plain = ours.calc_aggregate([alpha_nDCG @ 3, P_IA @ 3], qrels, without_x)
    assert list(ours.calc_aggregate(measures, qrels, run).values()) == list(plain.values())
    # Other measures take the last judgement of a document, as those of ir_measures do.
    twice = [Qrel("1", "a", 1, "x"), Qrel("1", "a", 0, "y")]
    assert ours.calc_aggregate([StRecall @ 1, ir_measures.RR], twice, run) == {StRecall @ 1: 1.0, ir_measures.RR: 0.0}


def test_measures_that_the_provider_leaves_out():
    """docs/python.md lists them."""
    from ir_measures import ERR, RBP, P

    ours, given = rankgauge.ir_measures.provider, {"cutoff": 5, "max_rel": 3, "recall": 0.5}
    left_out = set()
    for measure in set(ir_measures.measures.registry.values()):
        params = {name: given[name] for name in given if name in measure.SUPPORTED_PARAMS}
        if not ours.supports(measure(**params)) and not ours.supports(type(measure)(**measure.params)):
            left_out.add(measure.NAME)
    assert left_out == {"RBP"}
    assert ours.supports(RBP(rel=1)) and not ours.supports(RBP) and not ours.supports(RBP(rel=1) @ 5)
    assert not ours.supports(ERR)
    page = (HERE.parents[2] / "docs" / "python.md").read_text()
    assert "`RBP` without `rel`" in page
    own = ir_measures.define_byquery(lambda qrels, run: 0.0, name="P")
    assert ours.supports(P @ 5) and not ours.supports(own)


def test_registered_provider_comes_first():
    code = (
        "import ir_measures, rankgauge.ir_measures as ours\n"
        "ours.register(); ours.register()\n"
        "first = ir_measures.DefaultPipeline.providers[0]\n"
        "assert first.NAME == 'rankgauge' and ir_measures.DefaultPipeline.providers[1] is not first\n"
        "assert ir_measures.calc_aggregate([ir_measures.RR], {'q': {'a': 1}}, {'q': {'a': 1.0}}) == {ir_measures.RR: 1.0}"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], timeout=120).returncode == 0
