"""Second implementation of every measure of a ranked list, from its definition.

Plain Python without optimisation, one short function per measure. It is the reference for measures
that no other tool has, and a second check for the others. `grades` is the list of the grades of the
results in order, with `None` for unjudged documents. `gold` is the grades of all judged documents.
"""

import math
import struct


def score_as_trec_eval(score):
    """Score as a 32-bit float, as trec_eval 9 stores it."""
    return struct.unpack("f", struct.pack("f", score))[0]


def order(results):
    """Document ids by score descending, then by the bytes of the id descending."""
    return sorted(results, key=lambda d: (score_as_trec_eval(results[d]), d.encode()), reverse=True)


def is_relevant(grade, rel=1):
    return grade is not None and grade >= max(rel, 0)


def ranks(grades, rel=1, k=None):
    return [i for i, g in enumerate(grades[:k], 1) if is_relevant(g, rel)]


def relevant(gold, rel=1):
    return sum(is_relevant(g, rel) for g in gold)


def precision(grades, k, rel=1):
    return len(ranks(grades, rel, k)) / k


def precision_of_retrieved(grades, k):
    return len(ranks(grades, 1, k)) / min(k, len(grades)) if grades else 0.0


def recall(grades, gold, k, rel=1):
    return len(ranks(grades, rel, k)) / relevant(gold, rel) if relevant(gold, rel) else 0.0


def f1(grades, gold, k, rel=1):
    p, r = precision(grades, k, rel), recall(grades, gold, k, rel)
    return 2 * p * r / (p + r) if p + r else 0.0


def success(grades, k, rel=1):
    return float(bool(ranks(grades, rel, k)))


def all_hit(grades, gold, k):
    return float(0 < relevant(gold) == len(ranks(grades, 1, k)))


def reciprocal_rank(grades, rel=1, k=None):
    return next((1 / rank for rank in ranks(grades, rel, k)), 0.0)


def average_precision(grades, gold, rel=1, k=None):
    found = [n / rank for n, rank in enumerate(ranks(grades, rel, k), 1)]
    return sum(found) / relevant(gold, rel) if found else 0.0


def dcg(gains):
    return sum(g / math.log2(rank + 1) for rank, g in enumerate(gains, 1))


def gain_linear(grade):
    return max(grade or 0.0, 0.0)


def gain_exponential(grade):
    return 2 ** gain_linear(grade) - 1


def gain_binary(grade):
    return float(is_relevant(grade))


def ndcg(grades, gold, gain, k=None):
    best = dcg(sorted(map(gain, gold), reverse=True)[:k])
    return dcg(map(gain, grades[:k])) / best if best else 0.0


def ndcg_of_retrieved(grades, k=None):
    return ndcg(grades, grades, gain_linear, k)


def judged(grades, k):
    top = grades[:k]
    return sum(g is not None for g in top) / len(top) if top else 0.0


def bpref(grades, gold, rel=1):
    all_relevant = relevant(gold, rel)
    all_others = sum(0 <= g < rel for g in gold)
    above, total = 0, 0.0
    for grade in grades:
        if is_relevant(grade, rel):
            total += 1 - (min(above, all_relevant) / min(all_others, all_relevant) if above else 0)
        elif is_relevant(grade, 0):
            above += 1
    return total / all_relevant if all_relevant else 0.0


def rank_biased_precision(gains, p=0.8):
    return (1 - p) * sum(gain * p ** (rank - 1) for rank, gain in enumerate(gains, 1))


def expected_reciprocal_rank(grades, highest, k):
    total, still_looking = 0.0, 1.0
    for rank, grade in enumerate(grades[:k], 1):
        satisfied = gain_exponential(min(grade or 0.0, highest)) / 2**highest
        total += still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return total


def interpolated_precision(grades, gold, recall_level, rel=1):
    needed = math.floor(recall_level * relevant(gold, rel) + 0.9)
    found = enumerate(ranks(grades, rel), 1)
    return max((n / rank for n, rank in found if n >= needed), default=0.0)


def measures(grades, gold, scale_max):
    """Scores of one list, by the canonical name of the measure."""
    values = {
        "RR": reciprocal_rank(grades),
        "RR(rel=2)": reciprocal_rank(grades, 2),
        "AP": average_precision(grades, gold),
        "AP(rel=2)": average_precision(grades, gold, 2),
        "Bpref": bpref(grades, gold),
        "Bpref(rel=2)": bpref(grades, gold, 2),
        "nDCG": ndcg(grades, gold, gain_linear),
        "nDCG(gain=exp)": ndcg(grades, gold, gain_exponential),
        "nDCG(gain=binary)": ndcg(grades, gold, gain_binary),
        "RBP": rank_biased_precision(map(gain_binary, grades)),
        "RBP(p=0.5)": rank_biased_precision(map(gain_binary, grades), 0.5),
        "RBP(p=0.95)": rank_biased_precision(map(gain_binary, grades), 0.95),
        "RBP(rel=2)": rank_biased_precision([float(is_relevant(g, 2)) for g in grades]),
        "RBP(graded=true)": rank_biased_precision([gain_linear(g) / scale_max for g in grades]),
    }
    for k in (1, 3, 5, 10, 20, 100):
        found = len(ranks(grades, 1, k))
        values |= {
            f"P@{k}": precision(grades, k),
            f"P(rel=2)@{k}": precision(grades, k, 2),
            f"P(denominator=retrieved)@{k}": precision_of_retrieved(grades, k),
            f"R@{k}": recall(grades, gold, k),
            f"R(rel=2)@{k}": recall(grades, gold, k, 2),
            f"F1@{k}": f1(grades, gold, k),
            f"F1(rel=2)@{k}": f1(grades, gold, k, 2),
            f"Success@{k}": success(grades, k),
            f"AllHit@{k}": all_hit(grades, gold, k),
            f"RR@{k}": reciprocal_rank(grades, 1, k),
            f"AP@{k}": average_precision(grades, gold, 1, k),
            f"nDCG@{k}": ndcg(grades, gold, gain_linear, k),
            f"nDCG(gain=exp)@{k}": ndcg(grades, gold, gain_exponential, k),
            f"nDCG(gain=binary)@{k}": ndcg(grades, gold, gain_binary, k),
            f"nDCG(ideal=retrieved)@{k}": ndcg_of_retrieved(grades, k),
            f"Judged@{k}": judged(grades, k),
            f"ERR@{k}": expected_reciprocal_rank(grades, scale_max, k),
            f"ERR(max=3)@{k}": expected_reciprocal_rank(grades, 3, k),
            f"TP@{k}": float(found),
            f"FP@{k}": float(min(k, len(grades)) - found),
            f"FN@{k}": float(relevant(gold) - found),
        }
    for tenth in range(11):
        values[f"IPrec@{tenth / 10:g}"] = interpolated_precision(grades, gold, tenth / 10)
    values["IPrec(rel=2)@0.5"] = interpolated_precision(grades, gold, 0.5, 2)
    return values


def micro(lists, ks=(1, 3, 5, 10, 20, 100)):
    """Micro-averaged precision, recall and F1 of `lists`, a list of (grades, gold)."""
    values = {}
    for k in ks:
        found = sum(len(ranks(grades, 1, k)) for grades, _ in lists)
        shown = sum(min(k, len(grades)) for grades, _ in lists)
        wanted = sum(relevant(gold) for _, gold in lists)
        values[f"P@{k}"] = found / shown if shown else 0.0
        values[f"R@{k}"] = found / wanted if wanted else 0.0
        values[f"F1@{k}"] = 2 * found / (shown + wanted) if shown + wanted else 0.0
    return values


def sensitivity(results, gold):
    """For each wrong order of a run, True if AP differs from AP in the correct order.

    The wrong orders are: ids ascending for equal scores, scores as 64-bit floats, and ids as UTF-16.
    """
    orders = {
        "id_ascending": lambda d: (score_as_trec_eval(results[d]), [255 - b for b in d.encode()]),
        "score_64_bit": lambda d: (results[d], d.encode()),
        "id_utf_16": lambda d: (score_as_trec_eval(results[d]), d.encode("utf-16-be")),
    }
    grades = list(gold.values())
    right = average_precision([gold.get(d) for d in order(results)], grades)
    wrong = {name: sorted(results, key=key, reverse=True) for name, key in orders.items()}
    return {
        name: average_precision([gold.get(d) for d in documents], grades) != right
        for name, documents in wrong.items()
    }
