"""Judgements and runs from dictionaries, data frames and files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, Union

from . import _native

if TYPE_CHECKING:
    from ._native import Gold, Results


def _is_frame(value: object) -> bool:
    return hasattr(value, "__arrow_c_stream__") or (hasattr(value, "columns") and hasattr(value, "__getitem__"))


def _is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, (str, os.PathLike))


def _column_names(frame: Any) -> list[str]:
    names = getattr(frame, "column_names", None)
    if names is None:
        names = getattr(frame, "columns", None)
    if names is None:
        names = getattr(getattr(frame, "schema", None), "names", None)
    return [str(name) for name in names] if names is not None else []


#: Columns of a query, a document, a number, a subtopic, and a rank beside the score.
_Names = tuple[str, str, Union[str, None], Union[str, None], Union[str, None]]


def _check_no_table(argument: str, columns: str | None) -> None:
    if columns is not None:
        raise ValueError(f"{argument} states the columns of a table, and a dictionary has none; leave it out")


def _check_columns(columns: str | None, **names: str | None) -> None:
    given = [name for name, value in names.items() if value is not None]
    if columns is not None and given:
        raise ValueError(f"columns states all columns; leave out {', '.join(given)}")


def _selected(frame: Any, names: _Names) -> Any:
    """Return only the columns that are needed, where a frame can select them."""
    wanted = list(dict.fromkeys(name for name in names if name is not None))
    try:
        # pandas; polars and pyarrow.
        selected = frame[wanted] if hasattr(frame, "loc") else frame.select(wanted)
    except (AttributeError, KeyError, TypeError):
        return frame
    if hasattr(selected, "get_columns"):
        # polars exports a column of its type Null with a buffer, where Arrow has none.
        untyped = [column for column in selected.get_columns() if str(column.dtype) == "Null"]
        selected = selected.with_columns(column.cast(str) for column in untyped)
    return selected


def _values(frame: Any, name: str) -> list[Any]:
    column = frame[name]
    convert = getattr(column, "tolist", None) or getattr(column, "to_list", None)
    return list(convert()) if convert is not None else list(column)


def _numbers(frame: Any, name: str | None) -> list[float] | None:
    return None if name is None else [float(value) for value in _values(frame, name)]


def _ranks(frame: Any, name: str | None) -> list[float] | None:
    """Return the ranks beside scores, which are only compared with them; NaN for a row without one."""
    if name is None:
        return None
    return [float(value) if isinstance(value, (int, float)) else math.nan for value in _values(frame, name)]


def _subtopic(value: Any) -> str | None:
    if value is None or value != value:
        return None
    # Whole numbers with missing values are floats.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _from_frame(kind: Any, frame: Any, names: _Names, lists: Callable[[], tuple[Any, ...]], *options: Any) -> Any:
    """Read a frame by the interface of Arrow, else by lists of its columns."""
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return kind.from_arrow(_selected(frame, names), names, *options)
        except ImportError:
            # pandas exports Arrow only with pyarrow, which is no requirement.
            pass
    return kind.from_lists(*lists(), *options)


class Qrels:
    """Judgements: graded documents of queries.

    Made by ``from_dict``, ``from_df``, ``read`` or, as ranx does, by the class itself from a
    dictionary. They are checked once and can be used for any number of evaluations. With
    ``normalise_ids="nfc"``, the ids of queries and documents are composed, here and in the runs that are
    evaluated, so that equal letters have equal characters.
    """

    _native: Gold

    def __init__(
        self,
        qrels: Mapping[str, Mapping[str, float]],
        *,
        relevance_level: float | None = None,
        normalise_ids: str | None = None,
    ) -> None:
        self._native = _native.Gold.from_dict(dict(qrels), relevance_level, normalise_ids)

    @classmethod
    def _of(cls, native: Gold) -> Qrels:
        qrels = cls.__new__(cls)
        qrels._native = native
        return qrels

    @classmethod
    def from_dict(
        cls,
        qrels: Mapping[str, Mapping[str, float]],
        *,
        relevance_level: float | None = None,
        normalise_ids: str | None = None,
    ) -> Qrels:
        """Judgements of ``{query: {document: grade}}``."""
        return cls(qrels, relevance_level=relevance_level, normalise_ids=normalise_ids)

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str | None = None,
        doc_id_col: str | None = None,
        score_col: str | None = None,
        subtopic_col: str | None = None,
        *,
        columns: str | None = None,
        relevance_level: float | None = None,
        normalise_ids: str | None = None,
    ) -> Qrels:
        """Judgements of a data frame of pandas or polars, or of any table of Arrow.

        Without names, columns are found as in tables in files: ``query_id``, ``doc_id``, ``relevance``,
        ``subtopic_id`` or ``iteration``, and others. With a column of subtopics that has different values, a
        document may be judged for several: its grade is the highest one. ``columns`` states the columns as
        ``--gold-columns`` does: ``"query=qid,document=pid,grade=3"``.
        """
        _check_columns(columns, q_id_col=q_id_col, doc_id_col=doc_id_col, score_col=score_col, subtopic_col=subtopic_col)
        given = [q_id_col, doc_id_col, score_col, subtopic_col]
        names = _native.gold_columns(_column_names(df), given, columns)
        query, document, grade, subtopic, _ = names

        def lists() -> tuple[Any, ...]:
            subtopics = None if subtopic is None else [_subtopic(value) for value in _values(df, subtopic)]
            return _values(df, query), _values(df, document), _numbers(df, grade), subtopics

        return cls._of(_from_frame(_native.Gold, df, names, lists, relevance_level, normalise_ids))

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        columns: str | None = None,
        relevance_level: float | None = None,
        normalise_ids: str | None = None,
    ) -> Qrels:
        """Judgements of files and folders in any format of docs/gold.md, recognised by the content.

        ``columns`` states the columns of tables, as ``--gold-columns`` does.
        """
        given = [os.fspath(path) for path in paths]
        return cls._of(_native.Gold.from_files(given, relevance_level, normalise_ids, columns))

    @classmethod
    def of(
        cls,
        qrels: QrelsLike,
        *,
        columns: str | None = None,
        relevance_level: float | None = None,
        normalise_ids: str | None = None,
    ) -> Qrels:
        """Judgements of whatever ``evaluate`` accepts."""
        if isinstance(qrels, Qrels):
            qrels._check_made(columns, relevance_level, normalise_ids)
            return qrels
        if isinstance(qrels, Mapping):
            _check_no_table("gold_columns", columns)
            return cls.from_dict(qrels, relevance_level=relevance_level, normalise_ids=normalise_ids)
        if _is_frame(qrels):
            return cls.from_df(qrels, columns=columns, relevance_level=relevance_level, normalise_ids=normalise_ids)
        paths = [qrels] if _is_path(qrels) else qrels
        if isinstance(paths, Sequence) and paths and all(_is_path(path) for path in paths):
            return cls.read(*paths, columns=columns, relevance_level=relevance_level, normalise_ids=normalise_ids)
        raise TypeError(
            f"qrels of type {type(qrels).__name__}: give a dictionary, a data frame, a path or Qrels"
        )

    def _check_made(self, columns: str | None, relevance_level: float | None, normalise_ids: str | None) -> None:
        """Reject options that the judgements were made without."""
        late = "gold_columns" if columns is not None else ""
        if relevance_level is not None and relevance_level != self._native.relevance_level:
            late = "relevance_level"
        if normalise_ids is not None and normalise_ids != self._native.normalise_ids:
            late = "normalise_ids"
        if late:
            argument = late.replace("gold_", "")
            raise ValueError(f"{late} comes too late for judgements that are read; pass {argument} to Qrels")

    def queries(self) -> list[str]:
        """Keys of the queries, in their order."""
        return self._native.queries()

    @property
    def judgements(self) -> int:
        """Number of judged (query, document) pairs."""
        return self._native.judgements

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {document: grade}}``."""
        return self._native.to_dict()

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Qrels({len(self)} queries, {self.judgements} judgements)"


class Run:
    """Results of one system: scored documents of queries.

    A run that is read from a file stays there, and is read whenever it is evaluated.
    """

    _native: Results
    _order: str | None
    name: str

    def __init__(
        self, run: Mapping[str, Mapping[str, float]], name: str = "run", *, order: str | None = None
    ) -> None:
        self._native = _native.Results.from_dict(dict(run), order)
        self._order = order
        self.name = name

    @classmethod
    def _of(cls, native: Results, name: str, order: str | None) -> Run:
        run = cls.__new__(cls)
        run._native = native
        run._order = order
        run.name = name
        return run

    @classmethod
    def from_dict(
        cls, run: Mapping[str, Mapping[str, float]], name: str = "run", *, order: str | None = None
    ) -> Run:
        """Results of ``{query: {document: score}}``."""
        return cls(run, name, order=order)

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str | None = None,
        doc_id_col: str | None = None,
        score_col: str | None = None,
        rank_col: str | None = None,
        *,
        columns: str | None = None,
        name: str = "run",
        order: str | None = None,
    ) -> Run:
        """Results of a data frame of pandas or polars, or of any table of Arrow.

        Without names, columns are found as in tables in files: ``query_id``, ``doc_id``, ``score``, else
        ``distance`` or ``rank``, and others. Without ``order``, results are judged by score, else by
        distance (lower is better), else by rank. ``columns`` states the columns as ``--columns`` does:
        ``"query=qid,document=pid,rank=3"``.
        """
        _check_columns(columns, q_id_col=q_id_col, doc_id_col=doc_id_col, score_col=score_col, rank_col=rank_col)
        given = [q_id_col, doc_id_col, score_col, rank_col]
        names, found = _native.run_columns(_column_names(df), given, columns, order)
        query, document, number, _, rank = names

        def lists() -> tuple[Any, ...]:
            return _values(df, query), _values(df, document), _numbers(df, number), _ranks(df, rank)

        return cls._of(_from_frame(_native.Results, df, names, lists, found), name, order)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: str | None = None,
        name: str | None = None,
        order: str | None = None,
    ) -> Run:
        """Results of a file in any format of docs/reports.md, recognised by the content.

        ``columns`` states the columns of a table, as ``--columns`` does.
        """
        path = os.fspath(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        return cls._of(_native.Results.from_file(path, order, columns), name or stem, order)

    @classmethod
    def of(
        cls, run: RunLike, *, columns: str | None = None, name: str | None = None, order: str | None = None
    ) -> Run:
        """Results of whatever ``evaluate`` accepts."""
        if isinstance(run, Run):
            late = "columns" if columns is not None else "order" if order not in (None, run._order) else ""
            if late:
                raise ValueError(f"{late} comes too late for a run that is read; pass {late} to Run")
            return run if name is None else cls._of(run._native, name, run._order)
        if isinstance(run, Mapping):
            _check_no_table("columns", columns)
            return cls.from_dict(run, name or "run", order=order)
        if _is_path(run):
            return cls.read(run, columns=columns, name=name, order=order)
        if _is_frame(run):
            return cls.from_df(run, columns=columns, name=name or "run", order=order)
        raise TypeError(f"a run of type {type(run).__name__}: give a dictionary, a data frame, a path or a Run")

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {document: score}}``, in the order in which documents are judged."""
        run = self._native.to_dict()
        if run is None:
            raise ValueError("the run is in a file, and only read when it is evaluated")
        return run

    def __len__(self) -> int:
        size = self._native.size
        if size is None:
            raise TypeError("the run is in a file, and only read when it is evaluated")
        return size

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        size = self._native.size
        return f"Run({self.name!r}, {'in a file' if size is None else f'{size} queries'})"


def both(
    qrels: QrelsLike,
    run: RunLike,
    *,
    gold_columns: str | None,
    relevance_level: float | None,
    normalise_ids: str | None,
    columns: str | None,
    name: str | None,
    order: str | None,
) -> tuple[Qrels, Run]:
    """Judgements and results of whatever ``evaluate`` accepts. Two dictionaries take less time together."""
    if isinstance(qrels, Mapping) and isinstance(run, Mapping) and columns is None and gold_columns is None:
        gold, results = _native.from_dicts(dict(qrels), dict(run), relevance_level, normalise_ids, order)
        return Qrels._of(gold), Run._of(results, name or "run", order)
    made = Qrels.of(qrels, columns=gold_columns, relevance_level=relevance_level, normalise_ids=normalise_ids)
    return made, Run.of(run, columns=columns, name=name, order=order)


QrelsLike = Union[Qrels, Mapping[str, Mapping[str, float]], str, "os.PathLike[str]", Sequence["str | os.PathLike[str]"], Any]
RunLike = Union[Run, Mapping[str, Mapping[str, float]], str, "os.PathLike[str]", Any]
