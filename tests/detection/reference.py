"""Reference implementation of the statistics of regression detection, with the standard library only.

Reads a list of requests as JSON and prints a list of results as JSON. It shares only the formulas with
rankgauge. The tests compare the numbers.
"""

import json
import math
import sys

STAKES = [2.0**-k for k in range(1, 9)]


def log_mean(logs):
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs) / len(logs))


def log_factors(x, m):
    """ln(1 + f (m - x)/(1 - m)) for each stake f. A mean of 1 is tested as 1 - 1e-9."""
    m = min(m, 1 - 1e-9)
    return [math.log1p(f * (m - x) / (1 - m)) for f in STAKES]


def plus_one(log):
    """ln(e^log + 1)."""
    return math.log(math.exp(log) + 1) if log < 30 else log + math.exp(-log)


def stream(test, lines, m=None, epsilon=0.01, ceiling=None):
    """Log e-value after each score."""
    logs = [0.0] * len(STAKES)
    answers = []
    for line in lines:
        if "tick" in line:
            if test == "drop":
                logs = [plus_one(log) for log in logs]
        else:
            if "baseline" in line:
                value, mean = (1 + line["score"] - line["baseline"]) / 2, (1 - epsilon) / 2
            else:
                value, mean = line["score"], m
            logs = [log + factor for log, factor in zip(logs, log_factors(value, mean))]
        if ceiling is not None:
            logs = [min(log, ceiling) for log in logs]
        if "tick" not in line:
            answers.append(log_mean(logs))
    return answers


def split(counts, shares):
    """Log ratio of the Dirichlet-multinomial probability of the counts to that of the declared split.

    It is computed search by search, with the counts before each search.
    """
    answer = 0.0
    seen = 0
    for count, share in zip(counts, shares):
        for before in range(count):
            answer += math.log((100 * share + before) / (100 + seen)) - math.log(share)
            seen += 1
    return answer


def threshold(false_alarms, series, replicas):
    return math.log(90 * 24 * 60 * series * replicas / false_alarms)


KINDS = {f.__name__: f for f in (stream, split, threshold)}

if __name__ == "__main__":
    requests = json.load(sys.stdin)
    json.dump([KINDS[request.pop("kind")](**request) for request in requests], sys.stdout)
