"""Peer of benches/evaluate.rs: pytrec_eval with its own file readers, all measures in one call.

    evaluate_pytrec_eval.py QRELS RUN

Prints one JSON object: seconds by step, and the mean of every measure, by its name in rankgauge.
"""

import json
import sys
import time

begun = time.perf_counter()

import pytrec_eval

MEASURES = {
    "P_5": "P@5",
    "P_10": "P@10",
    "recall_10": "R@10",
    "recall_100": "R@100",
    "success_10": "Success@10",
    "recip_rank": "RR",
    "map": "AP",
    "ndcg_cut_10": "nDCG@10",
    "ndcg": "nDCG",
    "bpref": "Bpref",
}


def main():
    qrels, run = sys.argv[1:]
    started = time.perf_counter()
    with open(qrels, encoding="utf-8") as file:
        gold = pytrec_eval.parse_qrel(file)
    with open(run, encoding="utf-8") as file:
        scores = pytrec_eval.parse_run(file)
    was_read = time.perf_counter()
    judged = pytrec_eval.RelevanceEvaluator(gold, set(MEASURES)).evaluate(scores)
    means = {
        ours: pytrec_eval.compute_aggregated_measure(name, [scores_of_query[name] for scores_of_query in judged.values()])
        for name, ours in MEASURES.items()
    }
    done = time.perf_counter()
    seconds = {
        "prepare": started - begun,
        "read": was_read - started,
        "evaluate": done - was_read,
    }
    json.dump({"seconds": seconds, "means": means}, sys.stdout)


main()
