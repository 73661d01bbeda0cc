"""Evaluation of one run."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from ._inputs import Qrels, QrelsLike, Run, RunLike, both
from ._names import measure_name, mlflow_name, names_of

if TYPE_CHECKING:
    from ._gate import GateResult


class Evaluation(dict[str, float]):
    """Means of a run, ``{measure: mean}``, with the scores of each query and reports.

    Keys are canonical names; any other spelling of a measure finds them too. A measure that no query has
    a score for is NaN.
    """

    def __init__(self, scores: _native.Scores, per_query: bool) -> None:
        self._scores = scores
        super().__init__(zip(scores.measures, scores.means(0)))
        self._has_queries = per_query
        self._per_query: dict[str, dict[str, float]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process is a plain dictionary.
        return (dict, (dict(self),))

    def __missing__(self, name: object) -> float:
        canonical = measure_name(name)
        if canonical not in self:
            raise KeyError(f"{name}: not computed; the measures are {', '.join(self)}")
        return super().__getitem__(canonical)

    @property
    def name(self) -> str:
        """Name of the run."""
        return self._scores.runs[0]

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """Scores of each query, ``{query: {measure: score}}``."""
        if not self._has_queries:
            raise ValueError("the scores of each query were not requested: pass per_query=True to evaluate")
        if self._per_query is None:
            self._per_query = self._scores.per_query(0)
        return self._per_query

    @property
    def queries(self) -> dict[str, int]:
        """Number of queries with a score, by measure."""
        return dict(zip(self._scores.measures, self._scores.scored(0)))

    @property
    def missing(self) -> list[str]:
        """Keys of judged queries that the run does not answer."""
        return self._scores.missing(0)

    @property
    def unknown(self) -> list[str]:
        """Queries of the run that have no judgements."""
        return self._scores.unknown(0)

    def to_dict(self) -> dict[str, float]:
        """Return the means as a plain dictionary."""
        return dict(self)

    def mlflow(self, prefix: str = "") -> dict[str, float]:
        """Return the means with names that MLflow accepts, without those that are NaN."""
        return {prefix + mlflow_name(name): mean for name, mean in self.items() if not math.isnan(mean)}

    def _table(self, per_query: bool) -> dict[str, list[Any]]:
        if not per_query:
            return {"measure": list(self), "mean": list(self.values()), "queries": list(self.queries.values())}
        keys, columns = self._scores.columns(0)
        table: dict[str, list[Any]] = {"query_id": keys}
        table.update(zip(self._scores.measures, columns))
        return table

    def to_pandas(self, per_query: bool | None = None) -> Any:
        """Return a data frame of pandas: a row for each query, else for each measure.

        Default: by query if ``per_query=True`` was passed to ``evaluate``.
        """
        import pandas

        return pandas.DataFrame(self._table(self._has_queries if per_query is None else per_query))

    to_df = to_pandas

    def to_polars(self, per_query: bool | None = None) -> Any:
        """Return a data frame of polars, as ``to_pandas`` does."""
        import polars

        return polars.DataFrame(self._table(self._has_queries if per_query is None else per_query))

    def report(self, format: str = "text", *, require: Iterable[str] = ()) -> str:
        """Return the report of the command ``rankgauge evaluate``.

        ``format`` is text, json, csv, markdown, html, junit or github; ``require`` adds the checks of a
        gate.
        """
        return self._scores.report(format, self._has_queries, names_of(require))

    def check(self, *require: str) -> GateResult:
        """Check requirements such as ``nDCG@10>=0.75`` on the means."""
        from ._gate import Gate

        return Gate(require=require).check(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{mean:.4f}</td><td>{queries}</td></tr>"
            for (name, mean), queries in zip(self.items(), self.queries.values())
        )
        return (
            f"<table><caption>{html.escape(self.name)}</caption>"
            f"<thead><tr><th>measure</th><th>mean</th><th>queries</th></tr></thead><tbody>{rows}</tbody></table>"
        )


def score(
    qrels: Qrels,
    runs: Iterable[Run],
    measures: object,
    *,
    complete: bool,
    has_relevant: bool,
    compat: str | None,
    judged_only: bool,
    max_results: int | None,
    documents: int | None,
    ignore_identical_ids: bool,
    keeps_documents: bool = False,
) -> _native.Scores:
    """Evaluate several runs. Signs of a mistake in judgements and runs are warnings."""
    scores = _native.evaluate(
        qrels._native,
        [(run.name, run._native) for run in runs],
        names_of(measures),
        complete=complete,
        has_relevant=has_relevant,
        compat=compat,
        judged_only=judged_only,
        max_results=max_results,
        documents=documents,
        ignore_identical_ids=ignore_identical_ids,
        keeps_documents=keeps_documents,
    )
    for warning in scores.warnings:
        warnings.warn(warning, stacklevel=3)
    return scores


def evaluate(
    qrels: QrelsLike,
    run: RunLike,
    measures: object,
    *,
    per_query: bool = False,
    complete: bool = False,
    has_relevant: bool = False,
    relevance_level: float | None = None,
    order: str | None = None,
    name: str | None = None,
    compat: str | None = None,
    judged_only: bool = False,
    max_results: int | None = None,
    documents: int | None = None,
    ignore_identical_ids: bool = False,
    normalise_ids: str | None = None,
    columns: str | None = None,
    gold_columns: str | None = None,
) -> Evaluation:
    """Evaluate a run against judgements.

    ``qrels`` and ``run`` are dictionaries ``{query: {document: number}}``, data frames, paths, ``Qrels`` or
    a ``Run``. ``measures`` is a name, several names in a text, or names or measures of ir_measures in a
    list: ``"nDCG@10"``, ``["P@5", "ndcg_cut_10"]``.

    ``per_query`` keeps the scores of each query; ``complete`` scores judged queries that the run does not
    answer as 0, as ``trec_eval -c``; ``has_relevant`` leaves out queries without a relevant document;
    ``relevance_level`` is the lowest relevant grade. ``order`` is the order of judging: ``score`` (as
    trec_eval), ``ascending`` (distances), ``served`` or ``rank``. ``compat`` is ``trec_eval@9`` (the default) or
    ``trec_eval@10``; ``judged_only``, ``max_results`` and ``documents`` are ``trec_eval -J``, ``-M`` and ``-N``.

    ``ignore_identical_ids`` leaves out results whose id is that of the query, as BEIR does;
    ``normalise_ids="nfc"`` composes the ids of queries and documents, so that equal letters have equal
    characters. ``columns`` and ``gold_columns`` state the columns of tables in files and frames, as the options
    ``--columns`` and ``--gold-columns`` do: ``"query=qid,document=pid,score=3"``.

    Raises ``GoldError``, ``RunError`` and ``MeasureError``, with the texts of the command line.
    """
    judged, ranked = both(
        qrels,
        run,
        gold_columns=gold_columns,
        relevance_level=relevance_level,
        normalise_ids=normalise_ids,
        columns=columns,
        name=name,
        order=order,
    )
    scores = score(
        judged,
        [ranked],
        measures,
        complete=complete,
        has_relevant=has_relevant,
        compat=compat,
        judged_only=judged_only,
        max_results=max_results,
        documents=documents,
        ignore_identical_ids=ignore_identical_ids,
    )
    return Evaluation(scores, per_query)
