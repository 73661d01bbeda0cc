"""Test of the queries of deploy/kubernetes/rollouts and scaling against a real Prometheus.

`make rollout-test` runs it. Two demos run side by side: the quality of variant V5 drops in one of them
only. A Prometheus with the alert rules scrapes both. The rollout of V5 has to pass in one and to fail in
the other, with Argo Rollouts and with Flagger.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = pathlib.Path(os.environ.get("RANKGAUGE", TARGET / "debug/rankgauge"))
KUBERNETES = ROOT / "deploy/kubernetes"
TIME_LIMIT = 150
# Whether the rollout of V5 has to pass.
JOBS = {"rankgauge-good": True, "rankgauge-bad": False}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def documents(name):
    return list(yaml.safe_load_all((KUBERNETES / name).read_text()))


def filled(query, variables):
    for name, value in variables.items():
        for form in (f"{{{{args.{name}}}}}", f"{{{{ variables.{name} }}}}"):
            query = query.replace(form, value)
    assert "{{" not in query, f"a variable has no value: {query}"
    return query


class Prometheus:
    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"

    def vector(self, query):
        parameters = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"{self.address}/api/v1/query?{parameters}", timeout=10) as answer:
            return [float(each["value"][1]) for each in json.load(answer)["data"]["result"]]

    def alerts(self):
        with urllib.request.urlopen(f"{self.address}/api/v1/alerts", timeout=10) as answer:
            firing = (each["labels"] for each in json.load(answer)["data"]["alerts"] if each["state"] == "firing")
            return [{key: each.get(key) for key in ("alertname", "job", "variant", "measure", "slice", "value")} for each in firing]


def argo(prometheus, job):
    """Result of the AnalysisTemplate: passed, failed or inconclusive, as Argo Rollouts defines them."""
    template = documents("rollouts/argo-rollouts.yaml")[0]
    for metric in template["spec"]["metrics"]:
        defaults = {each["name"]: each.get("value") for each in template["spec"]["args"]}
        query = filled(metric["provider"]["prometheus"]["query"], {**defaults, "job": job, "variant": "V5"})
        result = prometheus.vector(query)
        scope = {"result": result, "false": False}
        is_success = eval(metric["successCondition"], {}, scope)
        is_failure = eval(metric["failureCondition"].strip('"'), {}, scope)
        if is_failure:
            return "failed"
        if not is_success:
            return "inconclusive"
    return "passed"


def flagger(prometheus, job):
    """Result of the checks of the Canary, as Flagger defines them."""
    *templates, canary = documents("rollouts/flagger.yaml")
    by_name = {each["metadata"]["name"]: each["spec"]["query"] for each in templates}
    for metric in canary["spec"]["analysis"]["metrics"]:
        variables = {**metric["templateVariables"], "job": job}
        value = prometheus.vector(filled(by_name[metric["templateRef"]["name"]], variables))[0]
        allowed = metric["thresholdRange"]
        if value > allowed.get("max", float("inf")):
            return "failed"
        if value < allowed.get("min", float("-inf")):
            return "inconclusive"
    return "passed"


def results(prometheus):
    return {(check.__name__, job): check(prometheus, job) for job in JOBS for check in (argo, flagger)}


def main():
    with tempfile.TemporaryDirectory(prefix="rankgauge-rollouts-") as folder:
        folder = pathlib.Path(folder)
        (folder / "rules").mkdir()
        for file in (ROOT / "deploy/prometheus/rules").glob("*.rules.yaml"):
            # Evaluated every second instead of every minute.
            (folder / "rules" / file.name).write_text(file.read_text().replace("interval: 1m", "interval: 1s"))
        ports = {job: free_port() for job in JOBS}
        web = free_port()
        (folder / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "rules/*.yaml")],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for job, port in ports.items()
            ],
        }))
        processes = []
        try:
            for job, port in ports.items():
                regression = ["--no-regression"] if JOBS[job] else ["--regress-after", "20s"]
                command = [BINARY, "demo", "--library", "law", "--rate", "300", "--seed", "7", "--for", f"{TIME_LIMIT}s", "--format", "json",
                           "--listen", f"127.0.0.1:{port}", *regression]
                with open(folder / f"{job}.log", "w") as log:
                    processes.append(subprocess.Popen(command, stdout=log, stderr=log))
            with open(folder / "prometheus.log", "w") as log:
                processes.append(subprocess.Popen(
                    ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
                     f"--web.listen-address=127.0.0.1:{web}"], stdout=log, stderr=log))
            prometheus = Prometheus(web)
            expected = {key: "passed" if JOBS[key[1]] else "failed" for key in
                        [(check, job) for job in JOBS for check in ("argo", "flagger")]}
            began = time.monotonic()
            last, found = None, None
            while found != expected:
                ended = [process.args[0] for process in processes if process.poll() is not None]
                if ended or time.monotonic() - began > TIME_LIMIT:
                    logs = "".join(file.read_text()[-2000:] for file in folder.glob("*.log"))
                    sys.exit(f"FAILED: {found}, expected {expected}; firing: {prometheus.alerts()}; ended: {ended}\n{logs}")
                time.sleep(1)
                try:
                    found = results(prometheus)
                except (urllib.error.URLError, ConnectionError):
                    continue
                if found != last:
                    print(f"{time.monotonic() - began:5.0f} s", *(f"{check} {job}: {result};" for (check, job), result in found.items()), flush=True)
                    last = found
            # The good variant stays good while the bad one is reported.
            until = time.monotonic() + 20
            while time.monotonic() < until:
                found = results(prometheus)
                if found != expected:
                    sys.exit(f"FAILED: {found}, expected {expected}; firing: {prometheus.alerts()}")
                time.sleep(1)
            keda = documents("scaling/keda.yaml")[0]["spec"]["triggers"][0]["metadata"]["query"]
            lag = prometheus.vector(keda)
            assert len(lag) == 1 and lag[0] >= 0, f"{keda}: {lag}"
            adapter = prometheus.vector("sum by (namespace) (rankgauge:consumer_lag_records:sum)")
            assert len(adapter) == 1, f"rankgauge:consumer_lag_records:sum: {adapter}"
            print(f"ok: the rollout of the good variant passes, that of the bad one fails; lag {lag[0]:.0f}")
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)


main()
