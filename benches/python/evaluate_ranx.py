"""Peer of benches/evaluate.rs: ranx with its own file readers, all measures in one call.

    evaluate_ranx.py [QRELS RUN]

A warm-up with small queries runs before the timed steps, because ranx compiles its code at the first
call, or loads the code compiled by an earlier process. Without files only the warm-up runs.

Prints one JSON object: seconds by step, and the mean of every measure, by its name in rankgauge.
"""

import json
import sys
import time
import warnings

begun = time.perf_counter()
warnings.simplefilter("ignore")

from ranx import Qrels, Run, evaluate

MEASURES = {
    "precision@5": "P@5",
    "precision@10": "P@10",
    "recall@10": "R@10",
    "recall@100": "R@100",
    "hit_rate@10": "Success@10",
    "mrr": "RR",
    "map": "AP",
    "ndcg@10": "nDCG@10",
    "ndcg": "nDCG",
    "bpref": "Bpref",
}


def main():
    # ranx uses all cores above ten queries.
    queries = [f"질의-{number}" for number in range(20)]
    small_gold = Qrels({query: {"d1": 1, "d2": 0} for query in queries})
    small_run = Run({query: {"d2": 2.0, "d1": 1.0} for query in queries})
    evaluate(small_gold, small_run, list(MEASURES), make_comparable=True)
    if len(sys.argv) == 1:
        return
    qrels, run = sys.argv[1:]
    started = time.perf_counter()
    gold = Qrels.from_file(qrels, kind="trec")
    scores = Run.from_file(run, kind="trec")
    was_read = time.perf_counter()
    means = evaluate(gold, scores, list(MEASURES), make_comparable=True)
    done = time.perf_counter()
    seconds = {
        "prepare": started - begun,
        "read": was_read - started,
        "evaluate": done - was_read,
    }
    means = {ours: float(means[name]) for name, ours in MEASURES.items()}
    json.dump({"seconds": seconds, "means": means}, sys.stdout)


main()
