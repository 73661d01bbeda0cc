"""Serializes events with the serializers of confluent-kafka, which register their schemas.

Usage: serialize.py REGISTRY_URL PREFIX ENCODING FOLDER. Reads records of the shop as lines of JSON: `kind` and `value`.
Writes their serialized values in Base64, one a line. FOLDER gets generated code and the descriptor set.
"""

import base64
import importlib
import json
import pathlib
import sys

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from grpc_tools import protoc

url, prefix, encoding, folder = sys.argv[1:]
here = pathlib.Path(__file__).parent
schemas = json.loads((here / "schemas.json").read_text())
client = SchemaRegistryClient({"url": url})
to_dict = lambda value, _context: value


def registered(name, subject, kind):
    """Registers a schema that others refer to, and returns the reference."""
    text = json.dumps(schemas["hit" if kind == "AVRO" else "json_hit"])
    client.register_schema(subject, Schema(text, kind))
    return SchemaReference(name, subject, client.get_latest_version(subject).version)


def serializers():
    """Serializers of searches, of which several are versions, and of clicks."""
    if encoding == "avro":
        hit = registered("shop.Hit", f"{prefix}/hit", "AVRO")
        searches = [Schema(json.dumps(it), "AVRO", [hit]) for it in schemas["searches"]]
        searches = [AvroSerializer(client, it, to_dict) for it in searches]
        return searches, AvroSerializer(client, json.dumps(schemas["click"]), to_dict)
    if encoding == "json":
        hit = registered("hit.json", f"{prefix}/hit", "JSON")
        search = Schema(json.dumps(schemas["json_search"]), "JSON", [hit])
        click = json.dumps(schemas["json_click"])
        return [JSONSerializer(search, client, to_dict)], JSONSerializer(click, client, to_dict)
    include = pathlib.Path(protoc.__file__).parent / "_proto"
    arguments = ["", f"-I{here}", f"-I{include}", f"--python_out={folder}", "--include_imports"]
    arguments += [f"--descriptor_set_out={folder}/shop.binpb", str(here / "hit.proto"), str(here / "shop.proto")]
    if protoc.main(arguments) != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, folder)
    messages = importlib.import_module("shop_pb2")

    def of(message):
        serializer = ProtobufSerializer(message, client, {"use.deprecated.format": False})

        def serialize(value, context):
            at = value["meta"].pop("at")
            built = message(**value)
            built.meta.at.FromMilliseconds(at)
            return serializer(built, context)

        return serialize

    return [of(messages.Search)], of(messages.Click)


searches, click = serializers()
topics = {"search": f"{prefix}-search", "feedback": f"{prefix}-feedback"}
for number, line in enumerate(sys.stdin):
    record = json.loads(line)
    kind = record["kind"]
    serialize = searches[number % len(searches)] if kind == "search" else click
    context = SerializationContext(topics[kind], MessageField.VALUE)
    print(base64.b64encode(serialize(record["value"], context)).decode())
