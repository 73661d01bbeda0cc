"""Documents and queries of the examples, and an embedding that counts words: it needs no model."""
import json
import pathlib
import re

_FILE = json.loads((pathlib.Path(__file__).parent / "corpus.json").read_text(encoding="utf-8"))
QUERIES = _FILE["queries"]
DOCUMENTS = _FILE["documents"]


def words(text):
    return re.findall(r"\w+", text.lower())


VOCABULARY = sorted({word for document in DOCUMENTS for word in words(document["text"])})


def embed(text):
    found = words(text)
    return [float(found.count(word)) for word in VOCABULARY]
