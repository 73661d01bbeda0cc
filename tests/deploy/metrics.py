"""Metrics of a running rankgauge."""

import urllib.request


def samples(port):
    """Lines of /metrics, or none without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return answer.read().decode().splitlines()
    except OSError:
        return []


def total(port, *beginnings):
    """Sum of the samples whose lines begin so, or None without an answer."""
    lines = samples(port)
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(beginnings)) if lines else None


def searches(port):
    """Searches that are counted, or None without an answer."""
    return total(port, 'rankgauge_events_total{kind="search"', 'rankgauge_events_pending{kind="search"')


def scored(port, measure):
    """Searches with a score for a measure, or None without an answer."""
    return total(port, f'rankgauge_score_count_total{{measure="{measure}"')
