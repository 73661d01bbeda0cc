"""Steps of a test: the commands that they run, the checks that fail them, and the command line that selects them."""

import argparse
import subprocess
import sys
import time


class Failed(Exception):
    """A check that does not hold."""


def require(holds, message):
    if not holds:
        raise Failed(message)


def run(*command, stdin=None, fails=False, **options):
    """Runs a command. Returns its output. With `fails`, it has to fail, and its errors are returned."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, **options)
    if fails:
        require(done.returncode != 0, f"{' '.join(words)} should fail")
        return done.stdout + done.stderr
    require(done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_steps(steps):
    """Runs the steps that the command line names, by default all. Each receives whether to write derived files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    arguments = parser.parse_args()
    names = [step.__name__ for step in steps]
    for name in arguments.steps:
        if name not in names:
            parser.error(f"unknown step {name}; the steps are {', '.join(names)}")
    for step in steps:
        if arguments.steps and step.__name__ not in arguments.steps:
            continue
        print(f"{step.__name__}: {step.__doc__}", flush=True)
        began = time.monotonic()
        try:
            step(arguments.update)
        except Failed as failed:
            sys.exit(f"FAILED: {failed}")
        print(f"  ok, {time.monotonic() - began:.1f} s", flush=True)
