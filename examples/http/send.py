# Search and feedback events from Python with requests: python send.py http://127.0.0.1:4318 [TOKEN]
import sys
import time
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

GATEWAY, *token = sys.argv[1:]
# A repeated request counts once: events have ids. 429 and 503 state the time to wait.
retry = Retry(total=5, backoff_factor=0.5, status_forcelist=[429, 503], allowed_methods=["POST"])
session = requests.Session()
session.mount("http", HTTPAdapter(max_retries=retry))
session.headers.update({"Authorization": f"Bearer {it}" for it in token})
QUERIES = ["용도지역 변경", "건폐율", "opening hours"]


def send(path, events):
    answer = session.post(GATEWAY + path, json=events, timeout=30)
    rejected = answer.json().get("rejected", answer.text)
    if not answer.ok or rejected:
        sys.exit(f"{answer.status_code}: {rejected}")


searches, clicks = [], []
for number in range(10):
    event = {"query_id": str(uuid.uuid4()), "ts": int(time.time() * 1000)}
    documents = [f"doc-{(number + rank) % 7}" for rank in range(5)]  # Stands for the search service.
    searches.append(event | {
        "query": QUERIES[number % 3],
        "variant": "V1",
        "latency_ms": 10 * (number + 1),
        "results": [{"id": document, "rank": rank} for rank, document in enumerate(documents, 1)],
    })
    if number % 2 == 0:  # The user opens a result.
        click = {"event_id": str(uuid.uuid4()), "type": "click", "object_id": documents[number % 3]}
        clicks.append(event | click)
send("/v1/searches", searches)  # Many events in a request cost the least.
send("/v1/feedback", clicks)
