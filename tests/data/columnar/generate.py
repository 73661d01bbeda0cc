"""Writes the tables in this folder by pandas, polars and pyarrow, for tests/it/columnar.rs.

`pip install pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1`, then `python generate.py` in this folder.
"""

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

run = pd.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2],
        "doc_id": ["법률:제17조, 제1항", 'd"2', "#d3", "d4", "d5"],
        "score": [0.1, 1e-7, 12345.678901234567, 2.5, 3.0],
        "note": [["list"], ["of"], ["texts"], None, []],
    }
)
run.to_parquet("pandas.parquet")
run.to_feather("pandas.feather")
frame = pl.from_pandas(run)
frame.write_parquet("polars.parquet")
frame.write_ipc("polars.arrow", compression="zstd")
frame.write_ipc_stream("polars.arrows")
frame.with_columns(pl.col("doc_id").cast(pl.Categorical)).write_ipc("categorical.arrow")

table = pa.Table.from_pandas(run, preserve_index=False)
table = table.set_column(1, "doc_id", table["doc_id"].dictionary_encode())
with pa.ipc.new_stream("dictionary.arrows", table.schema) as stream:
    stream.write_table(table, max_chunksize=2)
for codec in ["none", "gzip", "lz4", "brotli"]:
    pa.parquet.write_table(table, f"{codec}.parquet", compression=codec, row_group_size=2)
pa.parquet.write_table(
    table,
    "delta.parquet",
    use_dictionary=False,
    data_page_version="2.0",
    column_encoding={"query_id": "DELTA_BINARY_PACKED", "doc_id": "DELTA_BYTE_ARRAY"},
)

gold = pd.DataFrame(
    {
        "query_id": ["1", "1", "2", "2"],
        "query_text": ["17조 검색"] * 2 + ["허가"] * 2,
        "doc_id": ["법률:제17조, 제1항", "#d3", "d4", "d9"],
        "relevance": [3, 0, 1, None],
    }
)
gold.to_parquet("gold.parquet")
pl.from_pandas(gold).write_ipc("gold.arrow")

other = pd.DataFrame({"topic_nr": ["1", "2"], "article": ["#d3", None], "s": [1.0, None]})
other.to_parquet("other.parquet")
