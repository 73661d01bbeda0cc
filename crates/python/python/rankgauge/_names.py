"""Names of measures."""

from __future__ import annotations

from collections.abc import Iterable

from . import _native


def measure_name(name: object) -> str:
    """Return the canonical name of a measure: ``ndcg_cut_10`` becomes ``nDCG@10``.

    Raises ``MeasureError`` for a name that is no measure.
    """
    return _native.measure_name(str(name))


def measures() -> dict[str, str]:
    """Return the names of all measures of a run, with their descriptions."""
    return dict(_native.measures())


def mlflow_name(name: object) -> str:
    """Return the name of a measure with letters, digits, ``_``, ``-`` and ``.`` only.

    Trackers such as MLflow accept no other characters: ``P(rel=2)@10`` becomes ``P.rel-2_at_10``.
    Different measures have different names.
    """
    safe = str(name).replace("@", "_at_").replace("(", ".").replace(")", "").replace(",", ".")
    safe = safe.replace("=", "-")
    return "".join(it if it.isascii() and (it.isalnum() or it in "_-.") else f"_x{ord(it):x}_" for it in safe)


def names_of(measures: object) -> list[str]:
    """Return the names of one or several measures, which may be objects with a name."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        return [str(measures)]
    return [str(measure) for measure in measures]
