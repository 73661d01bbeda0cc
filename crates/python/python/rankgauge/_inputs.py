"""Judgements and runs from dictionaries, data frames and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, Union

from . import _native

if TYPE_CHECKING:
    from ._native import Gold, Results

QUERY_COLUMNS = ("query_id", "qid", "q_id", "query", "query-id", "query_key", "topic", "topic_id")
DOCUMENT_COLUMNS = (
    "doc_id", "docid", "docno", "document_id", "document", "corpus-id", "corpus_id", "doc", "object_id", "id",
)
GRADE_COLUMNS = ("relevance", "grade", "rel", "label", "relevancy", "rating", "judgement", "judgment", "score")
SCORE_COLUMNS = ("score", "similarity", "sim", "relevance_score")


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


def _choose(known: list[str], given: str | None, candidates: Sequence[str], what: str, argument: str) -> str:
    """Return the name of a column: the given one, else the first usual name."""
    if given is not None:
        if known and given not in known:
            raise ValueError(f"no column is called `{given}`; the columns are {', '.join(known)}")
        return given
    lowered = {name.lower(): name for name in reversed(known)}
    for candidate in candidates:
        if candidate in lowered:
            return lowered[candidate]
    raise ValueError(
        f"no column of {what} was found; the columns are {', '.join(known) or 'not known'}: name it with {argument}="
    )


def _columns(
    frame: Any,
    query: str | None,
    document: str | None,
    number: str | None,
    numbers: Sequence[str],
    what: str,
    argument: str,
) -> tuple[str, str, str]:
    known = _column_names(frame)
    return (
        _choose(known, query, QUERY_COLUMNS, "query ids", "q_id_col"),
        _choose(known, document, DOCUMENT_COLUMNS, "document ids", "doc_id_col"),
        _choose(known, number, numbers, what, argument),
    )


def _selected(frame: Any, names: tuple[str, str, str]) -> Any:
    """Return only the columns that are needed, where a frame can select them."""
    try:
        return frame[list(names)] if hasattr(frame, "columns") and hasattr(frame, "loc") else frame
    except (KeyError, TypeError):
        return frame


def _lists(frame: Any, names: tuple[str, str, str]) -> tuple[list[Any], list[Any], list[float]]:
    def values(name: str) -> list[Any]:
        column = frame[name]
        convert = getattr(column, "tolist", None) or getattr(column, "to_list", None)
        return list(convert()) if convert is not None else list(column)

    return values(names[0]), values(names[1]), [float(value) for value in values(names[2])]


def _from_frame(kind: Any, frame: Any, names: tuple[str, str, str], option: Any) -> Any:
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return kind.from_arrow(_selected(frame, names), list(names), option)
        except ImportError:
            # pandas exports Arrow only with pyarrow, which is no requirement.
            pass
    return kind.from_lists(*_lists(frame, names), option)


class Qrels:
    """Judgements: graded documents of queries.

    Made by ``from_dict``, ``from_df``, ``read`` or, as ranx does, by the class itself from a
    dictionary. They are checked once and can be used for any number of evaluations.
    """

    _native: Gold

    def __init__(
        self, qrels: Mapping[str, Mapping[str, float]], *, relevance_level: float | None = None
    ) -> None:
        self._native = _native.Gold.from_dict(dict(qrels), relevance_level)

    @classmethod
    def _of(cls, native: Gold) -> Qrels:
        qrels = cls.__new__(cls)
        qrels._native = native
        return qrels

    @classmethod
    def from_dict(
        cls, qrels: Mapping[str, Mapping[str, float]], *, relevance_level: float | None = None
    ) -> Qrels:
        """Judgements of ``{query: {document: grade}}``."""
        return cls(qrels, relevance_level=relevance_level)

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str | None = None,
        doc_id_col: str | None = None,
        score_col: str | None = None,
        *,
        relevance_level: float | None = None,
    ) -> Qrels:
        """Judgements of a data frame of pandas or polars, or of any table of Arrow.

        Without names, columns of usual names are taken: ``query_id``, ``doc_id``, ``relevance`` and
        others.
        """
        names = _columns(df, q_id_col, doc_id_col, score_col, GRADE_COLUMNS, "grades", "score_col")
        return cls._of(_from_frame(_native.Gold, df, names, relevance_level))

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        relevance_level: float | None = None,
    ) -> Qrels:
        """Judgements of files and folders in any format of docs/gold.md, recognised by the content."""
        return cls._of(_native.Gold.from_files([os.fspath(path) for path in paths], relevance_level))

    @classmethod
    def of(cls, qrels: QrelsLike, *, relevance_level: float | None = None) -> Qrels:
        """Judgements of whatever ``evaluate`` accepts."""
        if isinstance(qrels, Qrels):
            return qrels
        if isinstance(qrels, Mapping):
            return cls.from_dict(qrels, relevance_level=relevance_level)
        if _is_path(qrels):
            return cls.read(qrels, relevance_level=relevance_level)
        if _is_frame(qrels):
            return cls.from_df(qrels, relevance_level=relevance_level)
        if isinstance(qrels, Sequence) and qrels and all(_is_path(path) for path in qrels):
            return cls.read(*qrels, relevance_level=relevance_level)
        raise TypeError(
            f"qrels of type {type(qrels).__name__}: give a dictionary, a data frame, a path or Qrels"
        )

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
    name: str

    def __init__(
        self, run: Mapping[str, Mapping[str, float]], name: str = "run", *, order: str | None = None
    ) -> None:
        self._native = _native.Results.from_dict(dict(run), order)
        self.name = name

    @classmethod
    def _of(cls, native: Results, name: str) -> Run:
        run = cls.__new__(cls)
        run._native = native
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
        *,
        name: str = "run",
        order: str | None = None,
    ) -> Run:
        """Results of a data frame of pandas or polars, or of any table of Arrow.

        Without names, columns of usual names are taken: ``query_id``, ``doc_id``, ``score`` and others.
        """
        names = _columns(df, q_id_col, doc_id_col, score_col, SCORE_COLUMNS, "scores", "score_col")
        return cls._of(_from_frame(_native.Results, df, names, order), name)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, name: str | None = None, order: str | None = None
    ) -> Run:
        """Results of a file in any format of docs/reports.md, recognised by the content."""
        path = os.fspath(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        return cls._of(_native.Results.from_file(path, order), name or stem)

    @classmethod
    def of(cls, run: RunLike, *, name: str | None = None, order: str | None = None) -> Run:
        """Results of whatever ``evaluate`` accepts."""
        if isinstance(run, Run):
            return run if name is None else cls._of(run._native, name)
        if isinstance(run, Mapping):
            return cls.from_dict(run, name or "run", order=order)
        if _is_path(run):
            return cls.read(run, name=name, order=order)
        if _is_frame(run):
            return cls.from_df(run, name=name or "run", order=order)
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
    qrels: QrelsLike, run: RunLike, *, relevance_level: float | None, name: str | None, order: str | None
) -> tuple[Qrels, Run]:
    """Judgements and results of whatever ``evaluate`` accepts. Two dictionaries take less time together."""
    if isinstance(qrels, Mapping) and isinstance(run, Mapping):
        gold, results = _native.from_dicts(dict(qrels), dict(run), relevance_level, order)
        return Qrels._of(gold), Run._of(results, name or "run")
    return Qrels.of(qrels, relevance_level=relevance_level), Run.of(run, name=name, order=order)


QrelsLike = Union[Qrels, Mapping[str, Mapping[str, float]], str, "os.PathLike[str]", Sequence["str | os.PathLike[str]"], Any]
RunLike = Union[Run, Mapping[str, Mapping[str, float]], str, "os.PathLike[str]", Any]
