"""Compares the package with pytrec_eval and ir_measures in one process. Called by `make bench`.

10,000 queries with 100 results and 20 judgements each, five measures. The results are compared first. Rounds
of all programs take turns; the factor is that of the medians, with the lowest and highest of the rounds.

    bench.py [ROUNDS]
"""

import gc
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import ir_measures
import pandas
import pytrec_eval

import rankgauge

QUERIES, RESULTS, JUDGED = 10_000, 100, 20
MEASURES = ["nDCG@10", "AP", "RR", "P@10", "R@100"]
OF_TREC_EVAL = {"ndcg_cut_10": "nDCG@10", "map": "AP", "recip_rank": "RR", "P_10": "P@10", "recall_100": "R@100"}
OF_IR_MEASURES = [ir_measures.parse_measure(name) for name in MEASURES]
TARGETS = {
    ("dictionaries", "pytrec_eval"): 4,
    ("dictionaries", "ir_measures"): 6,
    ("data frames", "ir_measures"): 30,
    ("files", "pytrec_eval"): 12,
}


def traffic():
    source = random.Random(1)
    qrels, run = {}, {}
    for number in range(QUERIES):
        ids = [f"doc-{number % 97}-{n}" for n in source.sample(range(100_000), RESULTS + JUDGED)]
        score = 30.0
        results = {}
        for id in ids[:RESULTS]:
            score -= source.random() / 4
            results[id] = round(score, 6)
        judged = source.sample(ids[:RESULTS], JUDGED // 2) + ids[RESULTS : RESULTS + JUDGED // 2]
        query = f"query-{number}"
        qrels[query] = {id: source.choice((0, 0, 1, 2)) for id in judged}
        run[query] = results
    return qrels, run


def frame(nested, number):
    rows = [(query, document, value) for query, documents in nested.items() for document, value in documents.items()]
    return pandas.DataFrame(rows, columns=["query_id", "doc_id", number])


def with_pytrec_eval(qrels, run):
    scores = pytrec_eval.RelevanceEvaluator(qrels, set(OF_TREC_EVAL)).evaluate(run)
    return scores


def files_with_pytrec_eval(qrels, run):
    with open(qrels) as file:
        judged = pytrec_eval.parse_qrel(file)
    with open(run) as file:
        results = pytrec_eval.parse_run(file)
    return with_pytrec_eval(judged, results)


def with_ir_measures(qrels, run):
    return list(ir_measures.iter_calc(OF_IR_MEASURES, qrels, run))


def with_rankgauge(qrels, run):
    return rankgauge.evaluate(qrels, run, MEASURES, per_query=True).per_query


def as_rankgauge(scores):
    """Returns scores of another tool in the form of rankgauge."""
    if isinstance(scores, dict):
        return {query: {OF_TREC_EVAL.get(name, name): it for name, it in of.items()} for query, of in scores.items()}
    nested = {}
    for metric in scores:
        nested.setdefault(metric.query_id, {})[str(metric.measure)] = metric.value
    return nested


def largest_difference(one, other):
    assert one.keys() == other.keys(), "other queries"
    return max(abs(value - other[query][name]) for query, of in one.items() for name, value in of.items())


def timed(work):
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    qrels, run = traffic()
    qrels_frame, run_frame = frame(qrels, "relevance"), frame(run, "score")
    with tempfile.TemporaryDirectory() as folder:
        gold, results = Path(folder, "gold.qrels"), Path(folder, "bm25.run")
        with gold.open("w") as file:
            file.writelines(f"{q} 0 {d} {g}\n" for q, of in qrels.items() for d, g in of.items())
        with results.open("w") as file:
            file.writelines(
                f"{q} Q0 {d} {rank} {score} bm25\n"
                for q, of in run.items()
                for rank, (d, score) in enumerate(of.items(), 1)
            )
        programs = {
            ("dictionaries", "rankgauge"): lambda: with_rankgauge(qrels, run),
            ("dictionaries", "pytrec_eval"): lambda: with_pytrec_eval(qrels, run),
            ("dictionaries", "ir_measures"): lambda: with_ir_measures(qrels, run),
            ("data frames", "rankgauge"): lambda: with_rankgauge(qrels_frame, run_frame),
            ("data frames", "ir_measures"): lambda: with_ir_measures(qrels_frame, run_frame),
            ("files", "rankgauge"): lambda: with_rankgauge(gold, results),
            ("files", "pytrec_eval"): lambda: files_with_pytrec_eval(gold, results),
        }
        expected = as_rankgauge(programs["dictionaries", "rankgauge"]())
        for name, program in programs.items():
            difference = largest_difference(expected, as_rankgauge(program()))
            assert difference < 1e-9, (name, difference)
            print(f"python: results of {name[1]} from {name[0]}: equal (largest difference {difference:.1e})")
        seconds = {name: [] for name in programs}
        for _ in range(rounds):
            for name, program in programs.items():
                seconds[name].append(timed(program))
    for (source, program), times in seconds.items():
        times.sort()
        print(f"python: {source}, {program}: {statistics.median(times):.3f} s ({times[0]:.3f} to {times[-1]:.3f})")
    for (source, peer), target in TARGETS.items():
        ours, theirs = seconds[source, "rankgauge"], seconds[source, peer]
        factor = statistics.median(theirs) / statistics.median(ours)
        met = "met" if factor >= target else "MISSED"
        print(f"target: Python from {source}, {factor:.1f} times the speed of {peer} (at least {target}): {met}")


main()
