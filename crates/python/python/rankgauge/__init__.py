"""Search-quality measures as trec_eval computes them: evaluate, compare and gate rankings."""

from ._compare import Comparison, compare, compare_scores
from ._evaluate import Evaluation, evaluate
from ._gate import Check, Gate, GateError, GateResult, assert_quality
from ._inputs import Qrels, QrelsLike, Run, RunLike
from ._names import measure_name, measures, mlflow_name
from ._native import (
    CompareError,
    EventError,
    GoldError,
    InternalError,
    MeasureError,
    RankgaugeError,
    RunError,
    __version__,
)

__all__ = [
    "Check",
    "CompareError",
    "Comparison",
    "Evaluation",
    "EventError",
    "Gate",
    "GateError",
    "GateResult",
    "GoldError",
    "InternalError",
    "MeasureError",
    "Qrels",
    "QrelsLike",
    "RankgaugeError",
    "Run",
    "RunError",
    "RunLike",
    "__version__",
    "assert_quality",
    "compare",
    "compare_scores",
    "evaluate",
    "measure_name",
    "measures",
    "mlflow_name",
]
