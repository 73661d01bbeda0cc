"""Writes tests/detection/golden.json: short streams of dependent traffic, and the evidence of the reference.

    python3 -m venv v && v/bin/pip install numpy && v/bin/python tests/detection/golden.py

The references are traffic_sim.py and traffic_sim_3.py beside this file. Without numba it runs as plain Python, in about two minutes. Times are
whole milliseconds and scores multiples of 0.0001, so that the file is short and exact. The test that reads it is
crates/core/src/detection/tests/golden.rs. `traffic_sim_3.py --check` writes vectors.jsonl.
"""

import json
import math
import pathlib
import sys
import types

import numpy as np

try:
    import numba  # noqa: F401
except ImportError:
    plain = types.ModuleType("numba")
    plain.njit = lambda *_, **__: lambda function: function
    sys.modules["numba"] = plain

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import traffic_sim as reference  # noqa: E402
import traffic_sim_3 as series_reference  # noqa: E402

STREAMS = [
    # name, arguments of the traffic, drop from 60 % on
    ("bursts, fixed scores", dict(queries=200, zipf=False, noise=0.0, rate=1.0, hours=1.5, burst=5), 0.0),
    ("shared noise, drop", dict(rate=0.5, hours=3.0, burst=20, kind="burst"), 0.2),
    ("0 or 1, reshuffle", dict(queries=300, kind="hit", rate=0.5, hours=3.0, burst=5, reshuffle=1.0), 0.0),
    ("0 or 1, drop", dict(queries=300, kind="hit", rate=0.5, hours=3.0), 0.4),
    (
        "all of it",
        dict(kind="burst", rate=0.5, hours=3.0, burst=5, sessions=True, diurnal=True, reshuffle=1.0, churn=0.05, unjudged=0.2),
        0.0,
    ),
    ("few searches", dict(queries=50, rate=0.03, hours=36.0), 0.3),
]
WINDOWS = [1, 5]
BLOCKS = [300, 1500]
PREFIXES = 25


def stream(number, arguments, drop):
    drawn = reference.traffic(4000 + number, **arguments)
    ms = np.floor(drawn["t"] * 1000).astype(np.int64)
    scores = drawn["x"]
    if drop:
        scores = reference.fall(scores, drop, arguments.get("kind", "normal"), int(len(scores) * 0.6), number)
    scores = np.round(scores * 10_000).astype(np.int64)
    return ms, drawn["q"], scores, drawn["m"], drawn["nq"]


def main():
    answers = []
    for number, (name, arguments, drop) in enumerate(STREAMS):
        ms, queries, units, target, count = stream(number, arguments, drop)
        t, x = ms / 1000, units / 10_000
        targets = []
        for block in BLOCKS:
            for m in (round(float(target), 4), 0.8):
                at, evidence = reference.new_target_path(t, x, m, float(block), 30, 10.0, 0.05)
                alarm = reference.first_at(at, evidence, [reference.LN1000])[0]
                targets.append(
                    {
                        "m": m,
                        "block_seconds": block,
                        "closed_by": [int(place) for place in at],
                        "log_evidence": [float(it) for it in evidence],
                        "alarm": None if alarm < 0 else int(alarm),
                    }
                )
        series = []
        for window in WINDOWS:
            lengths = [math.ceil(len(x) * part / PREFIXES) for part in range(1, PREFIXES + 1)]
            threshold = np.array([reference.LNA])
            first, _, path, _ = series_reference.drop(t, queries, x, count, threshold, False, -1, window)
            in_series = int(first[2, 0])
            series.append(
                {
                    "window": window,
                    "after": lengths,
                    "log_evidence": [float(path[length - 1, 2]) for length in lengths],
                    "alarm": None if in_series < 0 else in_series,
                }
            )
        answers.append(
            {
                "name": name,
                "ms": np.diff(ms, prepend=0).tolist(),
                "queries": queries.tolist(),
                "scores": units.tolist(),
                "targets": targets,
                "series": series,
            }
        )
        print(name, len(x), [it["alarm"] for it in targets], [it["alarm"] for it in series])
    path = pathlib.Path(__file__).with_name("golden.json")
    path.write_text("[\n" + ",\n".join(json.dumps(it, separators=(",", ":")) for it in answers) + "\n]\n")


if __name__ == "__main__":
    main()
