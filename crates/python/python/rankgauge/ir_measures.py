"""Provider for ir_measures: its measures, computed by rankgauge.

``register()`` puts it before the other providers, so that ``ir_measures.calc_aggregate`` and the others use
it for every measure that it supports, with the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import providers

from ._evaluate import evaluate
from ._inputs import Qrels
from ._names import measure_name
from ._native import MeasureError

# Measures that ir_measures computes over all queries, or from more than a query, a document and a number.
_EXCLUDED = {"NumQ", "Accuracy", "alpha_DCG", "alpha_nDCG", "AP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"}


def _spelling(measure: Any) -> str:
    """Return the name of a measure of ir_measures in the grammar of rankgauge."""
    text = str(measure).replace("'", "").replace('"', "")
    if measure.NAME == "nDCG":
        text = text.replace("dcg=exp-log2", "gain=exp").replace("dcg=log2", "gain=linear")
    if measure.NAME == "ERR":
        # gdeval has five grades.
        text = text.replace("ERR@", "ERR(max=4)@")
    return text


class RankgaugeEvaluator(providers.Evaluator):
    """Judgements that any number of runs are evaluated against."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        judged = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        measures = list(measures)
        super().__init__(measures, set(judged))
        self._judged = set(judged)
        self._names = {measure_name(_spelling(measure)): measure for measure in measures}
        self._qrels = Qrels(judged)

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        results = ir_measures.util.RunConverter(run).as_dict_of_dict()
        if self._judged.isdisjoint(results):
            return
        scores = evaluate(self._qrels, results, list(self._names), per_query=True)
        for query, values in scores.per_query.items():
            for name, value in values.items():
                yield ir_measures.Metric(query_id=query, measure=self._names[name], value=value)


class RankgaugeProvider(providers.Provider):
    """rankgauge, https://github.com/rankgauge/rankgauge"""

    NAME = "rankgauge"

    def supports(self, measure: Any) -> bool:
        measure.validate_params()
        # Both leave out unjudged results, but the cutoff of ir_measures counts them.
        if measure.NAME in _EXCLUDED or measure.params.get("judged_only"):
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
