#!/usr/bin/env python3
"""Delays of the reference implementation (traffic_sim.py, and traffic_sim_3.py for the drop test) on many streams of a
model, beside those of its first streams.

    python3 tests/detection/delays.py "reshuffle every 6 h" target 0.05 --streams 1000
    python3 tests/detection/delays.py "Zipf 2k noisy, 0.5/s" drop 0.05 --streams 60 --after-warm-up

Needs numpy and numba.
"""
import argparse

import numpy as np

import traffic_sim as reference
import traffic_sim_3 as series_reference

# First seed of the table of traffic_sim.py.
FIRST_SEED = 777000


def delay(model, test, drop, seed, warm_up_tolerance):
    """Minutes from the drop to the alarm, or None with an alarm before the drop."""
    kind = model.get("kind", "normal")
    stream = reference.traffic(seed, **model)
    t, q, x = stream["t"], stream["q"], stream["x"]
    start = 0 if test == "target" else int(len(x) * 0.6)
    dropped = reference.fall(x, drop, kind, start, seed - FIRST_SEED)
    if test == "target":
        thresholds = np.array([reference.LN1000])
        alarm = reference.new_target(t, dropped, stream["m"], thresholds)[0]
    else:
        thresholds = np.array([reference.LNA])
        found = series_reference.drop(t, q, dropped, stream["nq"], thresholds, warm=warm_up_tolerance)
        # Of the global, the local and the combined evidence.
        alarm = found[0][2, 0]
    if 0 <= alarm < start:
        return None
    return (t[alarm] - t[start]) / 60 if alarm >= 0 else np.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="part of the name of a model")
    parser.add_argument("test", choices=["target", "drop"])
    parser.add_argument("drop", type=float)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--after-warm-up", action="store_true", help="with the tolerance after the warm-up")
    arguments = parser.parse_args()
    name, model, part = next(it for it in reference.MODELS if arguments.model in it[0])
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.streams)
    warm_up_tolerance = 0.01 if arguments.after_warm_up else 0.02
    delays = [delay(model, arguments.test, arguments.drop, seed, warm_up_tolerance) for seed in seeds]
    # traffic_sim.py draws 100 healthy streams of a model, or a part of them, and a quarter of these drop.
    listed = max(2, round(100 * part)) // 4
    print(f"{name}: {arguments.test} test, drop of {arguments.drop}, minutes")
    for count in (listed, arguments.streams):
        found = sorted(it for it in delays[:count] if it is not None)
        half = 0.98 * len(found) ** 0.5
        low, high = (found[int(np.clip(len(found) / 2 + side * half, 0, len(found) - 1))] for side in (-1, 1))
        quarters = np.quantile(found, [0.25, 0.75])
        print(
            f"first {count} streams: median {np.median(found):.0f} (95 % confidence {low:.0f} to {high:.0f}), "
            f"half of them between {quarters[0]:.0f} and {quarters[1]:.0f}"
        )


if __name__ == "__main__":
    main()
