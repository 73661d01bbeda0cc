"""Conditions that a run has to meet, for tests and builds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._compare import Comparison, compare
from ._evaluate import Evaluation, evaluate
from ._inputs import Qrels, QrelsLike, Run, RunLike
from ._names import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Check:
    """Result of one check."""

    run: str
    condition: str
    #: ``passed``, ``failed`` or ``skipped``.
    outcome: str
    #: Numbers behind the outcome.
    detail: str


class GateError(AssertionError):
    """A gate failed. The message lists the failed checks."""

    def __init__(self, message: str, checks: Sequence[Check]) -> None:
        super().__init__(message)
        self.checks = list(checks)


@dataclass(frozen=True)
class GateResult:
    """Checks of a gate."""

    checks: list[Check]

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        """Checks that failed."""
        return [check for check in self.checks if check.outcome == "failed"]

    def raise_on_failure(self) -> None:
        """Raise ``GateError`` if a check failed."""
        failed = self.failed
        if failed:
            lines = "".join(f"\n  {it.run}: {it.condition}: {it.detail}" for it in failed)
            raise GateError(f"the gate failed: {len(failed)} of {len(self.checks)} checks{lines}", self.checks)

    def __bool__(self) -> bool:
        return self.passed


class Gate:
    """Conditions that a run has to meet.

    ``require`` has bounds of means, ``nDCG@10>=0.75``. ``fail_on`` is the verdict about a comparison that
    fails: ``worse`` (the default) or ``difference``.
    """

    def __init__(self, require: str | Iterable[str] = (), *, fail_on: str = "worse") -> None:
        if fail_on not in ("worse", "difference"):
            raise ValueError(f"fail_on is `worse` or `difference`, not `{fail_on}`")
        self.require = names_of(require)
        self.fail_on = fail_on

    def measures(self) -> list[str]:
        """Measures of the bounds."""
        return [bound.rpartition("<")[0] or bound.rpartition(">")[0] for bound in self.require]

    def check(self, result: Evaluation | Comparison) -> GateResult:
        """Check the means of an evaluation, or the verdicts of a comparison."""
        if isinstance(result, Comparison):
            rows = result._native.checks(self.fail_on)
        elif self.require:
            rows = result._scores.checks(self.require)
        else:
            raise ValueError("the gate has no bound to check: Gate(require=['nDCG@10>=0.75'])")
        return GateResult([Check(*row) for row in rows])

    def assert_passed(self, result: Evaluation | Comparison) -> None:
        """Raise ``GateError`` if a check fails."""
        self.check(result).raise_on_failure()

    def __repr__(self) -> str:
        return f"Gate({self.require!r}, fail_on={self.fail_on!r})"


def assert_quality(
    qrels: QrelsLike,
    run: RunLike,
    require: str | Iterable[str] = (),
    *,
    baseline: RunLike | None = None,
    measures: object = None,
    fail_on: str = "worse",
    complete: bool = True,
    has_relevant: bool = False,
    relevance_level: float | None = None,
    order: str | None = None,
    name: str | None = None,
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
) -> Evaluation:
    """Fail a test if a run misses a bound, or is shown to be worse than a baseline.

    ``require`` has bounds such as ``nDCG@10>=0.75``. With ``baseline``, the run is compared with it on
    ``measures``, by default those of the bounds. Queries without an answer score 0, unless ``complete`` is
    False. The other arguments are those of ``evaluate`` and ``compare``; ``columns`` and ``order`` apply to both
    runs. Returns the evaluation.
    """
    gate = Gate(require, fail_on=fail_on)
    if not gate.require and baseline is None:
        raise ValueError("nothing to check: pass require=['nDCG@10>=0.75'], or a baseline")
    named = gate.measures() + (names_of(measures) if measures is not None else [])
    # A table may be a stream, which can be read once.
    judged = Qrels.of(qrels, columns=gold_columns, relevance_level=relevance_level, normalise_ids=normalise_ids)
    ranked = Run.of(run, columns=columns, name=name, order=order)
    judging: dict[str, Any] = {
        "complete": complete,
        "has_relevant": has_relevant,
        "compat": compat,
        "judged_only": judged_only,
        "max_results": max_results,
        "documents": documents,
        "ignore_identical_ids": ignore_identical_ids,
    }
    evaluation = evaluate(judged, ranked, named, **judging)
    if gate.require:
        gate.assert_passed(evaluation)
    if baseline is not None:
        comparison = compare(
            judged,
            [Run.of(baseline, columns=columns, name="baseline", order=order), ranked],
            names_of(measures) if measures is not None else named,
            alpha=alpha,
            seed=seed,
            resamples=resamples,
            **judging,
        )
        gate.assert_passed(comparison)
    return evaluation
