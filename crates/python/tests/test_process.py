"""Threads, signals, panics and forked processes."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import rankgauge

QRELS = {"q1": {"a": 2}}


class Hostile:
    """Number whose conversion changes the dictionary that it is in."""

    def __init__(self, dictionary):
        self.dictionary = dictionary

    def __float__(self):
        self.dictionary["another"] = 1.0
        return 1.0


def test_a_panic_is_an_exception():
    run = {"q1": {}}
    run["q1"]["a"] = Hostile(run["q1"])
    with pytest.raises((rankgauge.InternalError, RuntimeError)) as error:
        rankgauge.evaluate(QRELS, run, "RR")
    assert isinstance(error.value, Exception)
    # The process still works.
    assert rankgauge.evaluate(QRELS, {"q1": {"a": 1.0}}, "RR")["RR"] == 1.0


def test_a_forked_process_evaluates():
    rankgauge.evaluate(QRELS, {"q1": {"a": 1.0}}, "RR")
    code = textwrap.dedent(
        """
        import os, rankgauge
        qrels = {f"q{n}": {"a": 1} for n in range(2000)}
        run = {f"q{n}": {"b": 2.0, "a": 1.0} for n in range(2000)}
        assert rankgauge.evaluate(qrels, run, "RR")["RR"] == 0.5
        child = os.fork()
        if child == 0:
            os._exit(0 if rankgauge.evaluate(qrels, run, "RR")["RR"] == 0.5 else 1)
        _, status = os.waitpid(child, 0)
        raise SystemExit(os.waitstatus_to_exitcode(status))
        """
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], timeout=60).returncode == 0


def test_other_threads_run_during_long_work(tmp_path):
    path = tmp_path / "large.run"
    with path.open("w") as file:
        for query in range(3000):
            file.writelines(f"q{query} Q0 d{n} {n} {1000 - n} t\n" for n in range(100))
    qrels = rankgauge.Qrels({f"q{n}": {"d5": 1} for n in range(3000)})
    ticks = 0
    done = threading.Event()

    def work():
        rankgauge.evaluate(qrels, path, "RR nDCG@10 AP")
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks > 3


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_ends_a_long_call(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    # Nobody writes into the pipe: the call would wait for ever.
    code = f"import rankgauge; print('begin', flush=True); rankgauge.Qrels.read({str(path)!r})"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begin\n"
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            pass
    _, errors = process.communicate(timeout=10)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
