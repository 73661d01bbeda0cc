"""Gold set of the Python programs in this folder, in the native format of rankgauge."""

import unicodedata

import orjson


def normalised(text):
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


class Gold:
    """Gold queries by key, text and normalised text. A query is its key, grades and labels."""

    def __init__(self, path):
        with open(path, "rb") as file:
            queries = orjson.loads(file.read())["queries"]
        self.qrels = {}
        self.by_key = {}
        self.by_text = {}
        self.by_normalised = {}
        for query in queries:
            key = query["query_id"]
            self.qrels[key] = query["ground_truth"]
            labels = {name: query[name] for name in ("query_type", "difficulty") if name in query}
            entry = (key, query["ground_truth"], labels)
            self.by_key[key] = entry
            self.by_text[query["query_text"]] = entry
            self.by_normalised[normalised(query["query_text"])] = entry

    def find(self, search):
        entry = self.by_key.get(search.get("query_key"))
        if entry is None and (text := search.get("query")) is not None:
            entry = self.by_text.get(text) or self.by_normalised.get(normalised(text))
        return entry
