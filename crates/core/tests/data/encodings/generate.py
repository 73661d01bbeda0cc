"""Writes search.json by the serializers of Python, for crates/core/tests/it/decoding/encodings.rs.

`pip install fastavro==1.13.1 grpcio-tools==1.85.1`, then `python generate.py` in this folder.
"""

import importlib
import json
import pathlib
import sys
import tempfile

import fastavro
from google.protobuf import json_format
from grpc_tools import protoc

here = pathlib.Path(__file__).parent
record = json.loads((here / "search.json").read_text())

schema = fastavro.parse_schema(json.loads((here / "search.avsc").read_text()))
canonical = fastavro.schema.to_parsing_canonical_form(schema)
fingerprint = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
with open(here / "search.single_object", "wb") as out:
    out.write(b"\xc3\x01" + bytes.fromhex(fingerprint))
    fastavro.schemaless_writer(out, schema, record)

with tempfile.TemporaryDirectory() as folder:
    arguments = ["", f"-I{here}", "--include_imports", f"--descriptor_set_out={here / 'search.binpb'}"]
    include = pathlib.Path(protoc.__file__).parent / "_proto"
    arguments += [f"-I{include}", f"--python_out={folder}", str(here / "search.proto")]
    if protoc.main(arguments) != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, folder)
    messages = importlib.import_module("search_pb2")

micros = record["meta"].pop("ts")
message = json_format.ParseDict(record, messages.Search())
message.meta.ts.FromMicroseconds(micros)
(here / "search.pb").write_bytes(message.SerializeToString())
