"""Provider for ir_measures: its measures, computed by rankgauge.

``register()`` puts it before the other providers, so that ``ir_measures.calc_aggregate`` and the others use
it for every measure that it supports, with the same values.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import providers

from . import _native
from ._evaluate import evaluate
from ._inputs import Qrels
from ._names import measure_name
from ._native import MeasureError

# Measures over subtopics, which are the iterations of judgements.
_OF_SUBTOPICS = {"alpha_DCG", "alpha_nDCG", "AP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"}

# Measures without a value for a query that the run does not answer.
_WITHOUT_DEFAULT = {"Accuracy"}


def _spelling(measure: Any) -> str:
    """Return the name by which rankgauge reads a measure of ir_measures."""
    # Unjudged results are left out before a measure is computed.
    params = {name: value for name, value in measure.params.items() if name != "judged_only"}
    return f"ir_measures:{type(measure)(**params)}"


def _by_subtopic(rows: Iterable[Any]) -> Qrels:
    """Return judgements with the iterations as subtopics, as pyndeval reads them."""
    queries, documents, grades, subtopics = [], [], [], []
    for row in rows:
        queries.append(row.query_id)
        documents.append(row.doc_id)
        grades.append(float(row.relevance))
        subtopics.append(str(getattr(row, "iteration", "0")))
    return Qrels._of(_native.Gold.from_lists(queries, documents, grades, subtopics, None, None))


class RankgaugeEvaluator(providers.Evaluator):
    """Judgements that any number of runs are evaluated against."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        measures = list(measures)
        rows = None
        if not isinstance(qrels, dict):
            # Judgements may be an iterator, which can be read once.
            qrels = rows = list(ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter())
        judged = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(measures, set(judged))
        self._judged = set(judged)
        # Of a document with several judgements, ir_measures takes the last one, except for subtopics.
        self._qrels = {False: Qrels(judged)}
        # Measures by their names, for each kind of judgements and of results.
        self._names: dict[tuple[bool, bool], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for measure in measures:
            has_subtopics = measure.NAME in _OF_SUBTOPICS and rows is not None
            if has_subtopics and True not in self._qrels:
                self._qrels[True] = _by_subtopic(rows or [])
            kind = (has_subtopics, bool(measure.params.get("judged_only")))
            self._names[kind][measure_name(_spelling(measure))].append(measure)

    def iter_calc(self, run: Any) -> Iterator[Any]:
        missing = set(itertools.product(self.measures, self._judged))
        for metric in self._iter_calc(run):
            missing.discard((metric.measure, metric.query_id))
            yield metric
        for measure, query in sorted(missing, key=lambda it: (str(it[0]), it[1])):
            if measure.NAME not in _WITHOUT_DEFAULT:
                yield ir_measures.Metric(query_id=query, measure=measure, value=measure.DEFAULT)

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        results = ir_measures.util.RunConverter(run).as_dict_of_dict()
        if self._judged.isdisjoint(results):
            return
        for (has_subtopics, judged_only), names in self._names.items():
            qrels = self._qrels[has_subtopics]
            scores = evaluate(qrels, results, list(names), per_query=True, judged_only=judged_only)
            for query, values in scores.per_query.items():
                for name, value in values.items():
                    for measure in names[name]:
                        if not math.isnan(value):
                            yield ir_measures.Metric(query_id=query, measure=measure, value=value)


class RankgaugeProvider(providers.Provider):
    """rankgauge, https://github.com/rankgauge/rankgauge"""

    NAME = "rankgauge"

    def supports(self, measure: Any) -> bool:
        measure.validate_params()
        if hasattr(measure, "runtime_impl"):
            # A function in Python, whatever its name.
            return False
        if measure.NAME == "RBP" and "rel" not in measure.params:
            # The gain is the grade itself, so that values exceed 1.
            return False
        try:
            measure_name(_spelling(measure))
        except MeasureError:
            return False
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> RankgaugeEvaluator:
        return RankgaugeEvaluator(measures, qrels)


#: The provider, for calls such as ``provider.calc_aggregate(measures, qrels, run)``.
provider = RankgaugeProvider()


def register() -> None:
    """Put the provider before the others of ir_measures. A second call changes nothing."""
    if provider.NAME not in providers.registry:
        providers.register(provider)
        ir_measures.DefaultPipeline.providers.insert(0, provider)
