"""Judges runs with other evaluation tools and prints the scores of each query as JSON.

    judge.py NAME=GOLD,RUN …

GOLD and RUN are TREC qrels and a TREC run, or both `{query: {document: number}}` as JSON. Output:

    {NAME: {"per_query": {reference: {measure: {query: value}}},
            "micro": {measure: value}, "sensitivity": {wrong order: number of changed queries}}}

where `measure` is the canonical name of the measure in rankgauge. References:

trec_eval    trec_eval 9.0.8 in C, through pytrec_eval-terrier, with the unmodified run: its order is
             the reference for ties. It reads integer grades only. Rounding a grade down does not
             change whether it is relevant or negative, and nDCG with linear gain does not change if
             all grades are multiplied by a power of two. Grades in quarters are therefore rounded
             down for measures of relevance and multiplied by four for nDCG.
ranx         ranx, with fractional grades. Its order of ties depends on its sort, so the scores of its
             run are the ranks of trec_eval's order. It does not support empty lists.
ir_measures  Judged of ir_measures, RBP of cwl_eval through ir_measures, and ERR and nDCG with
             exponential gain of the gdeval.pl that ir_measures contains, with two changes: all
             digits are printed instead of five, and ids are numbers, as gdeval requires. Integer
             grades up to 4 only. Scores of the run are ranks, as for ranx.
definitions  definitions.py in this directory.
"""

import json
import math
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path

import definitions

warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")

CUTOFFS = (1, 3, 5, 10, 20, 100)
TENTHS = [tenth / 10 for tenth in range(11)]


def read_trec(path, document, value):
    """Reads a file with columns as `{query: {document: number}}`."""
    content = defaultdict(dict)
    for line in path.read_bytes().splitlines():
        columns = [column.decode() for column in line.split()]
        number = float(columns[value])
        content[columns[0]][columns[document]] = int(number) if value == 3 else number
    return dict(content)


def read(gold, run):
    if gold.suffix == ".json":
        return json.loads(gold.read_bytes()), json.loads(run.read_bytes())
    return read_trec(gold, 2, 3), read_trec(run, 2, 4)


def trec_eval(gold, run):
    import pytrec_eval

    cuts = ",".join(map(str, CUTOFFS))
    values = defaultdict(dict)

    def evaluate(grades, names, rel=1):
        """Adds the scores of `names`: rankgauge's names by pytrec_eval's names."""
        wanted = set()
        for name in names:
            head, _, tail = name.rpartition("_")
            wanted.add(f"{head}.{cuts}" if tail.isdigit() else name)
        for family in ("iprec_at_recall", "Rprec_mult", "relative_P"):
            if any(name.startswith(f"{family}_") for name in names):
                wanted = {name for name in wanted if not name.startswith(family)}
                wanted.add(family)
        evaluator = pytrec_eval.RelevanceEvaluator(grades, wanted, relevance_level=rel)
        for query, scores in evaluator.evaluate(run).items():
            for name, ours in names.items():
                # An empty list at recall 0 is 0/0 and not a reference value.
                if not math.isnan(scores[name]):
                    values[ours][query] = scores[name]

    # trec_eval reads out of bounds for a query with negative grades only.
    sound = {query: grades for query, grades in gold.items() if max(grades.values()) >= 0}

    def with_grades(change):
        return {q: {d: change(g) for d, g in grades.items()} for q, grades in sound.items()}

    binary = with_grades(math.floor)
    plain = {"map": "AP", "recip_rank": "RR", "bpref": "Bpref"}
    plain |= {f"map_cut_{k}": f"AP@{k}" for k in CUTOFFS}
    plain |= {f"P_{k}": f"P@{k}" for k in CUTOFFS}
    plain |= {f"recall_{k}": f"R@{k}" for k in CUTOFFS}
    plain |= {f"success_{k}": f"Success@{k}" for k in CUTOFFS}
    plain |= {f"iprec_at_recall_{level:.2f}": f"IPrec@{level:g}" for level in TENTHS}
    plain |= {"Rprec": "Rprec", "infAP": "infAP", "11pt_avg": "IPrecAvg", "binG": "binG", "utility": "Utility"}
    plain |= {"set_P": "SetP", "set_recall": "SetR", "set_F": "SetF", "set_map": "SetAP"}
    plain |= {"set_relative_P": "SetRelP", "num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRelRet"}
    plain |= {"num_nonrel_judged_ret": "NumNonrelJudgedRet"}
    plain |= {f"relative_P_{k}": f"RelP@{k}" for k in (5, 10, 100)}
    plain |= {f"Rprec_mult_{x:.2f}": f"RprecMult@{x:g}" for x in (0.2, 1.0, 1.4, 2.0)}
    evaluate(binary, plain)
    strict = {"map": "AP(rel=2)", "recip_rank": "RR(rel=2)", "bpref": "Bpref(rel=2)"}
    strict |= {f"P_{k}": f"P(rel=2)@{k}" for k in CUTOFFS}
    strict |= {f"recall_{k}": f"R(rel=2)@{k}" for k in CUTOFFS}
    strict |= {"Rprec": "Rprec(rel=2)", "infAP": "infAP(rel=2)", "set_F": "SetF(rel=2)"}
    strict["iprec_at_recall_0.50"] = "IPrec(rel=2)@0.5"
    evaluate(binary, strict, rel=2)
    gains = {"ndcg": "nDCG", "ndcg_rel": "nDCGRel"} | {f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTOFFS}
    evaluate(with_grades(lambda grade: int(4 * grade)), gains)
    if all(grade == int(grade) for grades in gold.values() for grade in grades.values()):
        # These depend on the relevance level, or on the unit of the grades.
        evaluate(binary, {"G": "G", "Rndcg": "RnDCG"})
    return values


def ranx(gold, ranked, scale_max):
    from ranx import evaluate

    ranked = {query: scores for query, scores in ranked.items() if scores}
    judged = {query: gold[query] for query in ranked}
    shares = {q: {d: g / scale_max for d, g in grades.items()} for q, grades in judged.items()}
    binary = {q: {d: float(g >= 1) for d, g in grades.items()} for q, grades in judged.items()}
    strict = {q: {d: float(g >= 2) for d, g in grades.items()} for q, grades in judged.items()}
    # At relevance level 0 ranx keeps the gains of grades below 1.
    requested = {"map": "AP", "mrr": "RR", "ndcg-l0": "nDCG", "ndcg_burges-l0": "nDCG(gain=exp)"}
    requested |= {"map-l2": "AP(rel=2)", "mrr-l2": "RR(rel=2)", "r-precision": "Rprec"}
    requested |= {"dcg-l0": "DCG", "dcg@10-l0": "DCG@10", "dcg_burges-l0": "DCG(gain=exp)"}
    for k in CUTOFFS:
        requested |= {
            f"precision@{k}": f"P@{k}",
            f"recall@{k}": f"R@{k}",
            f"f1@{k}": f"F1@{k}",
            f"f1@{k}-l2": f"F1(rel=2)@{k}",
            f"hit_rate@{k}": f"Success@{k}",
            f"mrr@{k}": f"RR@{k}",
            f"map@{k}": f"AP@{k}",
            f"ndcg@{k}-l0": f"nDCG@{k}",
            f"ndcg_burges@{k}-l0": f"nDCG(gain=exp)@{k}",
        }
    rbp = {"rbp.80": "RBP", "rbp.50": "RBP(p=0.5)", "rbp.95": "RBP(p=0.95)"}
    values = {}
    for grades, names in (
        (judged, requested),
        (binary, rbp),
        (strict, {"rbp.80": "RBP(rel=2)"}),
        (shares, {"rbp.80-l0": "RBP(graded=true)"}),
    ):
        # With a single measure, ranx looks it up by the wrong name.
        scores = evaluate(grades, ranked, [*names, "hits"], return_mean=False)
        for name, ours in names.items():
            values[ours] = dict(zip(ranked, map(float, scores[name])))
    return values


def ir_measures(gold, ranked):
    import ir_measures as tool

    qrels = [
        tool.Qrel(query, document, math.floor(grade))
        for query, grades in gold.items()
        for document, grade in grades.items()
    ]
    run = [
        tool.ScoredDoc(query, document, float(score))
        for query, scores in ranked.items()
        for document, score in scores.items()
    ]
    requested = {tool.Judged @ k: f"Judged@{k}" for k in CUTOFFS}
    requested |= {
        tool.RBP(p=0.8, rel=1): "RBP",
        tool.RBP(p=0.5, rel=1): "RBP(p=0.5)",
        tool.RBP(p=0.95, rel=1): "RBP(p=0.95)",
        tool.RBP(p=0.8, rel=2): "RBP(rel=2)",
    }
    answered = {query for query, scores in ranked.items() if scores}
    values = defaultdict(dict)
    for metric in tool.iter_calc(list(requested), qrels, run):
        # The values of ir_measures for queries without results are a convention of ir_measures.
        if metric.query_id in answered:
            values[requested[metric.measure]][metric.query_id] = float(metric.value)
    grades = {grade for judged in gold.values() for grade in judged.values()}
    if all(grade == int(grade) and grade <= 4 for grade in grades):
        values |= gdeval(gold, ranked)
        values |= user_models(tool, qrels, run, gold, answered)
    return values


def user_models(tool, qrels, run, gold, answered):
    """Measures of cwl_eval, compat and accuracy, which use the grades themselves."""
    scale = {"min_rel": 0, "max_rel": 4}
    requested = {
        tool.INSQ(**scale): "INSQ(max_rel=4)",
        tool.INSQ(T=2.5, **scale): "INSQ(T=2.5,max_rel=4)",
        tool.INST(**scale): "INST(max_rel=4)",
        tool.INST(T=3.0, **scale): "INST(T=3,max_rel=4)",
        tool.SDCG(**scale) @ 10: "SDCG(max_rel=4)@10",
        tool.BPM(**scale) @ 10: "BPM(max_rel=4)@10",
        tool.BPM(T=0.5, **scale) @ 3: "BPM(T=0.5,max_rel=4)@3",
        tool.NERR8(**scale) @ 5: "NERR8(max_rel=4)@5",
        tool.NERR9(**scale) @ 5: "NERR9(max_rel=4)@5",
        tool.NERR10(**scale): "NERR10(max_rel=4)",
        tool.NERR11(T=2.0, **scale): "NERR11(T=2,max_rel=4)",
        tool.Compat: "Compat",
        tool.Compat(p=0.8, normalize=False): "Compat(normalize=false,p=0.8)",
    }
    values = defaultdict(dict)
    for metric in tool.iter_calc(list(requested), qrels, run):
        if metric.query_id in answered:
            values[requested[metric.measure]][metric.query_id] = float(metric.value)
    # Accuracy divides by the number of results that are not relevant.
    for measure, name in {tool.Accuracy: "Accuracy", tool.Accuracy(rel=2) @ 10: "Accuracy(rel=2)@10"}.items():
        for query in answered & gold.keys():
            one = [doc for doc in run if doc.query_id == query]
            try:
                metrics = list(tool.iter_calc([measure], [it for it in qrels if it.query_id == query], one))
            except ZeroDivisionError:
                continue
            values[name] |= {metric.query_id: float(metric.value) for metric in metrics if len(metrics) == 1}
    return values


def gdeval(gold, ranked):
    script = pkgutil.get_data("ir_measures", "bin/gdeval.pl").decode()
    exact = script.replace("%.5f,%.5f", "%.17g,%.17g")
    assert exact != script and "$MAX_JUDGMENT = 4;" in script, "unexpected version of gdeval.pl"
    queries = list(gold)
    numbers = {query: number for number, query in enumerate(queries)}
    values = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        program, qrels, run = (Path(folder) / name for name in ("gdeval.pl", "qrels", "run"))
        program.write_text(exact)
        documents = {}

        def number(document):
            return documents.setdefault(document, f"d{len(documents)}")

        with qrels.open("w") as lines:
            for query, grades in gold.items():
                for document, grade in grades.items():
                    print(numbers[query], 0, number(document), int(grade), file=lines)
        with run.open("w") as lines:
            for query, scores in ranked.items():
                for document, score in scores.items():
                    print(numbers[query], "Q0", number(document), 1, score, "x", file=lines)
        for k in CUTOFFS:
            printed = subprocess.check_output(["perl", program, qrels, run, str(k)], text=True)
            for line in printed.splitlines()[1:]:
                _, query, ndcg, err = line.split(",")
                values[f"nDCG(gain=exp)@{k}"][queries[int(query)]] = float(ndcg)
                values[f"ERR(max=4)@{k}"][queries[int(query)]] = float(err)
    return values


def judge(gold, run):
    gold_queries = [query for query in gold if query in run]
    scale_max = max(grade for grades in gold.values() for grade in grades.values())
    orders = {query: definitions.order(run[query]) for query in gold_queries}
    ranked = {
        query: {document: float(len(order) - place) for place, document in enumerate(order)}
        for query, order in orders.items()
    }
    by_definition = defaultdict(dict)
    lists, changed = [], defaultdict(int)
    for query in gold_queries:
        grades = [gold[query].get(document) for document in orders[query]]
        everything = list(gold[query].values())
        lists.append((grades, everything))
        for name, value in definitions.measures(grades, everything, scale_max).items():
            by_definition[name][query] = value
        for name, differs in definitions.sensitivity(run[query], gold[query]).items():
            changed[name] += differs
    return {
        "per_query": {
            "trec_eval": trec_eval(gold, run),
            "ranx": ranx(gold, ranked, scale_max),
            "ir_measures": ir_measures(gold, ranked),
            "definitions": by_definition,
        },
        "micro": definitions.micro(lists),
        "sensitivity": changed,
    }


def main():
    judged = {}
    for argument in sys.argv[1:]:
        name, _, files = argument.partition("=")
        gold, _, run = files.partition(",")
        judged[name] = judge(*read(Path(gold), Path(run)))
    json.dump(judged, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
