"""Comparison of runs over the same queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._evaluate import score
from ._inputs import Qrels, QrelsLike, Run, RunLike


class Comparison:
    """Differences of runs from the first, with their significance."""

    def __init__(self, native: _native.Comparison) -> None:
        self._native = native
        self._document: dict[str, Any] | None = None

    @property
    def warnings(self) -> list[str]:
        """Limitations of the results, one sentence each."""
        return self._native.warnings

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, as ``rankgauge compare --format json`` writes them."""
        if self._document is None:
            self._document = json.loads(self._native.report("json", None))
        return self._document

    @property
    def overlaps(self) -> list[dict[str, Any]]:
        """Overlap of the results of each run with those of the first, if ``rbo`` was passed.

        A dictionary for each run: ``a`` and ``b`` are the names of both, ``p`` is ``rbo``, ``mean`` the mean over
        the queries that both answer, and ``queries`` has the overlap of each of these queries.
        """
        overlaps: list[dict[str, Any]] = self.to_dict().get("overlaps", [])
        return overlaps

    def report(self, format: str = "text", *, fail_on: str | None = None) -> str:
        """Return the report of the command ``rankgauge compare``.

        ``format`` is text, json, csv, markdown, html, junit or github; ``fail_on`` adds the checks of a
        gate.
        """
        return self._native.report(format, fail_on)

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for pair in self.to_dict()["comparisons"]:
            for measure, numbers in pair["measures"].items():
                scalars = {key: it for key, it in numbers.items() if not isinstance(it, (dict, list))}
                means = {"mean_a": scalars.pop("a"), "mean_b": scalars.pop("b")}
                low, high = numbers.get("ci95") or (None, None)
                rows.append(
                    {
                        "a": pair["a"],
                        "b": pair["b"],
                        "measure": measure,
                        **means,
                        **scalars,
                        "ci95_low": low,
                        "ci95_high": high,
                        "verdict": pair["verdicts"][measure],
                    }
                )
        return rows

    def to_pandas(self) -> Any:
        """Return a data frame of pandas, with a row for each run and measure."""
        import pandas

        return pandas.DataFrame(self._rows())

    to_df = to_pandas

    def to_polars(self) -> Any:
        """Return a data frame of polars, with a row for each run and measure."""
        import polars

        return polars.DataFrame(self._rows())

    def __str__(self) -> str:
        return self.report("text")

    def __repr__(self) -> str:
        return f"Comparison({', '.join(repr(run) for run in self.to_dict()['runs'])})"

    def _repr_html_(self) -> str:
        import html

        def cell(value: object) -> str:
            text = f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)
            return f"<td>{html.escape(text)}</td>"

        rows = self._rows()
        shown = [name for name in ("a", "b", "measure", "mean_a", "mean_b", "difference", "p_holm", "verdict")
                 if rows and name in rows[0]]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join("<tr>" + "".join(cell(row.get(name)) for name in shown) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _named(
    runs: Mapping[str, RunLike] | Iterable[RunLike], columns: str | None, order: str | None
) -> list[Run]:
    if isinstance(runs, Mapping):
        return [Run.of(run, columns=columns, name=name, order=order) for name, run in runs.items()]
    return [Run.of(run, columns=columns, order=order) for run in runs]


def compare(
    qrels: QrelsLike,
    runs: Mapping[str, RunLike] | Iterable[RunLike],
    measures: object,
    *,
    complete: bool = False,
    has_relevant: bool = False,
    relevance_level: float | None = None,
    order: str | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    resamples: int | None = None,
    compat: str | None = None,
    judged_only: bool = False,
    max_results: int | None = None,
    documents: int | None = None,
    ignore_identical_ids: bool = False,
    normalise_ids: str | None = None,
    columns: str | None = None,
    gold_columns: str | None = None,
    rbo: float | None = None,
) -> Comparison:
    """Evaluate two or more runs and compare each with the first.

    ``runs`` is a list of runs, or ``{name: run}``. A difference is shown if its p after Holm's correction
    is below ``alpha``. ``rbo`` adds the rank-biased overlap of the results of each run with those of the
    first, with this probability of continuing to the next rank: 0.9. The other arguments are those of
    ``evaluate``.
    """
    scores = score(
        Qrels.of(qrels, columns=gold_columns, relevance_level=relevance_level, normalise_ids=normalise_ids),
        _named(runs, columns, order),
        measures,
        complete=complete,
        has_relevant=has_relevant,
        compat=compat,
        judged_only=judged_only,
        max_results=max_results,
        documents=documents,
        ignore_identical_ids=ignore_identical_ids,
        keeps_documents=rbo is not None,
    )
    return Comparison(_native.compare(scores, alpha, seed, resamples, rbo))


def compare_scores(
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    alpha: float = 0.05,
    seed: int = 1,
    resamples: int | None = None,
) -> Comparison:
    """Compare scores that were computed before, ``{name: {query: {measure: score}}}``."""
    given = [(name, {query: dict(scores) for query, scores in queries.items()}) for name, queries in runs.items()]
    return Comparison(_native.compare_scores(given, alpha, seed, resamples))
