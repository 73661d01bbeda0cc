/** Documents and queries of the examples, and an embedding that counts words: it needs no model. */
import { readFileSync } from "node:fs";

const file = JSON.parse(readFileSync(new URL("corpus.json", import.meta.url), "utf8"));
export const { queries, documents } = file;

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const vocabulary = [...new Set(documents.flatMap(({ text }) => words(text)))].sort();

export function embed(text) {
  const found = words(text);
  return vocabulary.map((word) => found.filter((it) => it === word).length);
}
