"""The first days of a simulated year by the rule engine of Prometheus, which promtool has for tests of rules.

The engine evaluates all groups of the shipped rules every few minutes, with `for` and `keep_firing_for`. Its time begins at 0, so
metrics that are timestamps are moved by the beginning of the year.
"""

import itertools
import json
import math
import re
import subprocess
import sys
from decimal import Decimal

import yaml

MINUTE = 60
FIRING = 'ALERTS{alertstate="firing"}'
# Labels that the rules add to those of the expression.
ADDED = {"alertname", "alertstate", "severity", "concern", "evaluator"}


def notation(values, minutes):
    """Values by minute in the notation of promtool: equal values in sequence are `VALUExTIMES`."""
    by_minute = (values.get(minute) for minute in range(minutes))
    words = []
    for value, run in itertools.groupby(by_minute, key=str):
        length = len(list(run))
        if value == "None":
            words.append(f"_x{length}")
            continue
        number = float(value)
        if math.isfinite(number):
            words.append(f"{format(Decimal(value), 'f')}x{length - 1}")
        else:
            words += [{"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[value]] * length
    return " ".join(words)


def evaluate(folder, rules, samples, span, step):
    """Alerts that fire within `span`: begin, end, name and labels. `samples` are series with values by time."""
    first, last = span
    minutes = (last - first) // MINUTE
    series = []
    for metric, values in samples:
        labels = dict(metric)
        name = labels.pop("__name__")
        moved = first if name.endswith("_timestamp_seconds") else 0
        matchers = ",".join(f"{key}={yaml.safe_dump(value, default_style=chr(34), width=10**6).strip()}" for key, value in labels.items())
        by_minute = {(at - first) // MINUTE: value - moved for at, value in values}
        series.append({"series": f"{name}{{{matchers}}}", "values": notation(by_minute, minutes)})
    cases = [{"expr": FIRING, "eval_time": f"{at // MINUTE}m"} for at in range(0, last - first, step)]
    test = {
        "rule_files": [str(file) for file in sorted(rules.glob("*.rules.yaml"))],
        "evaluation_interval": f"{step // MINUTE}m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": cases}],
    }
    file = folder / "engine.test.yaml"
    file.write_text(yaml.dump(test, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), width=10**9))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    # Without an expected sample, a case with alerts fails and shows them.
    found = re.findall(r'time: ([0-9dhms]+),\s*exp: nil\s*got: (.*)', report)
    if done.returncode != 0 and not found:
        sys.exit(f"FAILED: {file}\n{report[-4000:]}")
    times = {}
    for at, text in found:
        for labels in re.findall(r'\{__name__="ALERTS", ((?:[a-zA-Z_]+="(?:[^"\\]|\\.)*"(?:, )?)*)\}', text):
            pairs = re.findall(r'([a-zA-Z_]+)=("(?:[^"\\]|\\.)*")', labels)
            labels = {key: json.loads(value) for key, value in pairs}
            key = (labels["alertname"], tuple(sorted((key, value) for key, value in labels.items() if key not in ADDED)))
            times.setdefault(key, []).append(first + seconds(at))
    return [(spans[0], spans[-1], name, dict(labels))
            for (name, labels), of in times.items() for spans in runs(sorted(of), step)]


def seconds(text):
    units = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([dhms])", text))


def runs(times, step):
    """Sequences of times without a gap."""
    found = []
    for at in times:
        if found and at - found[-1][-1] <= step:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def differences(mine, evaluated, tolerance):
    """Alerts of one list that the other does not have within `tolerance` seconds of both ends."""
    key = lambda alert: (alert[2], sorted((name, value) for name, value in alert[3].items() if name not in ADDED and value))
    same = lambda one, other: key(one) == key(other) and all(abs(one[at] - other[at]) <= tolerance for at in (0, 1))
    text = lambda alert: f"{alert[2]} {key(alert)[1]} from {alert[0]} to {alert[1]}"
    return [f"only by range queries: {text(it)}" for it in mine if not any(same(it, other) for other in evaluated)] + [
        f"only by the rule engine: {text(it)}" for it in evaluated if not any(same(it, other) for other in mine)]
