"""Writes the runs of this folder with the tools that their names begin with: pandas, polars, ranx and Python.

    target/python/bin/python tests/data/runs/generate.py

All have the same results: of `q1` the documents `b` and `a, b`, of `q2` the document `c`.
"""

import json
from pathlib import Path

import pandas
import polars
import ranx

HERE = Path(__file__).parent
COLUMNS = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a, b", "b", "c"], "score": [0.5, 1.5, 1.0]}

frame = pandas.DataFrame(COLUMNS)
for orientation in ["columns", "index", "split", "table", "records"]:
    frame.to_json(HERE / f"pandas-{orientation}.json", orient=orientation)
frame.to_json(HERE / "pandas-columns-indented.json", indent=2)
frame.to_json(HERE / "pandas-records.jsonl", orient="records", lines=True)
(HERE / "pandas-to_dict-list.json").write_text(json.dumps(frame.to_dict("list")))
frame.to_csv(HERE / "pandas.csv", index=False)
frame.to_csv(HERE / "pandas-index.csv")
frame.to_csv(HERE / "pandas.tsv", index=False, sep="\t")
frame.to_csv(HERE / "pandas-semicolon.csv", index=False, sep=";")

frame = polars.DataFrame(COLUMNS)
frame.write_csv(HERE / "polars.csv")
frame.write_json(HERE / "polars.json")
frame.write_ndjson(HERE / "polars.jsonl")

run = ranx.Run({"q1": {"a, b": 0.5, "b": 1.5}, "q2": {"c": 1.0}}, name="ranx")
run.save(str(HERE / "ranx.json"))

lists = {"q1": ["b", "a, b"], "q2": ["c"]}
(HERE / "python-lists.json").write_text(json.dumps(lists))
