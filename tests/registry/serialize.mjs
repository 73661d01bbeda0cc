// Serializes events with the serializers of @confluentinc/schemaregistry, which register their schemas.
//
// Usage: serialize.mjs REGISTRY_URL PREFIX ENCODING FOLDER, as serialize.py. FOLDER has the descriptor set that
// serialize.py writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { create, createFileRegistry, createMutableRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AvroSerializer,
  JsonSerializer,
  ProtobufSerializer,
  SchemaRegistryClient,
  SerdeType,
} from "@confluentinc/schemaregistry";

const [url, prefix, encoding, folder] = process.argv.slice(2);
const schemas = JSON.parse(readFileSync(new URL("schemas.json", import.meta.url), "utf8"));
const client = new SchemaRegistryClient({ baseURLs: [url] });
const topics = { search: `${prefix}-search`, feedback: `${prefix}-feedback` };

/// Registers the schema of the topic's values, with those that it refers to. Returns its id.
async function register(topic, schema, schemaType, hit) {
  const info = { schema: JSON.stringify(schema), schemaType };
  if (hit) {
    await client.register(hit.subject, { schema: JSON.stringify(hit.schema), schemaType });
    const { version } = await client.getLatestSchemaMetadata(hit.subject);
    info.references = [{ name: hit.name, subject: hit.subject, version }];
  }
  await client.register(`${topic}-value`, info);
}

async function serializers() {
  if (encoding === "protobuf") {
    const set = fromBinary(FileDescriptorSetSchema, readFileSync(join(folder, "shop.binpb")));
    const files = createFileRegistry(set);
    const [search, click] = ["shop.Search", "shop.Click"].map((name) => files.getMessage(name));
    const registry = createMutableRegistry(search, click);
    const serializer = new ProtobufSerializer(client, SerdeType.VALUE, { autoRegisterSchemas: true, registry });
    const of = (kind, desc) => ({ meta, ...rest }) => {
      const message = create(desc, { ...rest, meta: { ...meta, at: timestampFromMs(meta.at) } });
      return serializer.serialize(topics[kind], message);
    };
    return { search: of("search", search), feedback: of("feedback", click) };
  }
  const isAvro = encoding === "avro";
  const type = isAvro ? "AVRO" : "JSON";
  const hit = isAvro
    ? { name: "shop.Hit", subject: `${prefix}/hit`, schema: schemas.hit }
    : { name: "hit.json", subject: `${prefix}/hit`, schema: schemas.json_hit };
  await register(topics.search, isAvro ? schemas.searches[1] : schemas.json_search, type, hit);
  await register(topics.feedback, isAvro ? schemas.click : schemas.json_click, type);
  const serializer = new (isAvro ? AvroSerializer : JsonSerializer)(client, SerdeType.VALUE, {
    useLatestVersion: true,
  });
  const of = (kind) => (value) => serializer.serialize(topics[kind], isAvro ? { node: null, ...value } : value);
  return { search: of("search"), feedback: of("feedback") };
}

const serialize = await serializers();
for await (const line of createInterface({ input: process.stdin })) {
  const { kind, value } = JSON.parse(line);
  const bytes = await serialize[kind](value);
  console.log(bytes.toString("base64"));
}
