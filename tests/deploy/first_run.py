"""First run of a stranger: each way in, in an empty Debian with what the pages name, with its time.

`make first-run-test` runs it, as root. The commands are those of the pages: only names of hosts, ports and the
registry are replaced.

    first_run.py [--update] [STEP…]     STEPs: package, own_topics, gate, wheel, chart, demo

With --update, it writes the times of the steps that ran into docs/install.md.
"""

import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

import metrics
from apiserver import Cluster, tool
from broker import HOST, ROOT, TARGET, Broker, free_port
from debian import Debian
from shop import CLICKS, SEARCHES, Shop
from steps import Failed, require, run, run_steps

PAGE = ROOT / "docs/install.md"
BEGIN, END = "<!-- Written by `UPDATE=1 make first-run-test`. -->\n", "<!-- End of the times. -->\n"
# Seconds after the download in which every way in leads to its result.
LIMIT = 600
# Rows of the table: what is done, and the result.
ROWS = {
    "deb": "`apt install` of the package, and `rankgauge demo` until it shows scores",
    "gold": "own topics: `apt install`, a mapping and a gold set from clicks",
    "event": "own topics: all of it, and `rankgauge run` until the first search is judged",
    "incident": "own topics: all of it, until a broken ranking is an incident",
    "gate": "`apt install`, and a gate that passes and fails",
    "wheel": "`pip install` of the wheel, and the first example of Python",
    "chart": "`helm install` from a registry, until the objects exist",
    "demo": "a clone, and `make demo` until it shows scores; compilers and crates are on the disk",
}


class Watch:
    """Time since a beginning."""

    def __init__(self, update):
        self.began = time.monotonic()
        self.update = update

    def result(self, row):
        """A row has its result now."""
        seconds = time.monotonic() - self.began
        print(f"  {ROWS[row]}: {seconds:.1f} s", flush=True)
        require(seconds < LIMIT, f"{ROWS[row]}: more than {LIMIT} s")
        if self.update:
            write(row, f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s")


def write(row, text):
    """Replaces a time in the page. The others stay."""
    before, rest = PAGE.read_text().split(BEGIN)
    table, after = rest.split(END)
    times = dict(re.findall(r"^\| (.*) \| ([^|]*) \|$", table, re.MULTILINE))
    times[ROWS[row]] = text
    lines = [f"| from nothing to, on {os.cpu_count()} processors | time |", "|---|---|"]
    lines += [f"| {label} | {times[label]} |" for label in ROWS.values() if label in times]
    PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


def commands(page, begin):
    """Commands of the first block of a page that has a line with this beginning, without output."""
    for language, block in re.findall(r"^```(sh|console|python)\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE):
        if language == "python" and block.startswith(begin):
            return [block]
        lines = block.replace("\\\n", " ").splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found = [index for index, line in enumerate(lines) if line.startswith(begin)]
        if found:
            return lines[found[0]:]
    raise Failed(f"{page} has no block with {begin}")


def stated(page, pattern):
    """Command that a page states in its text."""
    found = re.search(f"`({pattern})`", (ROOT / page).read_text())
    require(found, f"{page} has no {pattern}")
    return found[1]


def artefact(folder, pattern):
    found = list((TARGET / folder).glob(pattern))
    require(len(found) == 1, f"{TARGET / folder}/{pattern}: {len(found)} files; make release python")
    return found[0]


def wait(what, limit, condition, process=None):
    """Waits for a condition. Returns its value."""
    began = time.monotonic()
    while not (value := condition()):
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() - began > limit:
            log = process.log.read_text()[-3000:] if process is not None else ""
            raise Failed(f"{what}: not within {limit} s\n{log}")
        time.sleep(0.1)
    return value


def install(debian):
    """Installs the package as README.md states it."""
    command = stated("README.md", r"apt install \./rankgauge_[^`]*\.deb").split()
    require(f"./{debian.package}" == command[-1], f"README.md: {command}")
    debian.run(*command, "--yes", folder="/tmp")


@contextlib.contextmanager
def with_package(name, **options):
    """A Debian with the downloaded package."""
    with Debian(name, **options) as debian:
        debian.package = debian.put(artefact("release-artifacts", "rankgauge_*.deb"), "/tmp")
        yield debian


def package(update):
    """apt installs the package, and its demo shows scores."""
    with with_package("package") as debian:
        watch = Watch(update)
        install(debian)
        port = free_port()
        demo = debian.start("rankgauge", "demo", "--for", "10s", "--listen", f"127.0.0.1:{port}", "--admin-listen", f"127.0.0.1:{free_port()}")
        wait("scores of the demo", 60, lambda: metrics.scored(port, "nDCG@10"), demo)
        watch.result("deb")
        require(demo.wait(60) == 0, demo.log.read_text())


def own_topics(update):
    """A shop's own topics reach nDCG and an incident by the commands of the page."""
    lines = commands("docs/connect/own-records.md", "rankgauge init quality --from-topic")
    port, admin = free_port(), free_port()
    listeners = {"RANKGAUGE__METRICS__LISTEN": f"127.0.0.1:{port}", "RANKGAUGE__ADMIN__LISTEN": f"127.0.0.1:{admin}"}
    history, step, minutes = 9000, 25_000, 45
    shop = Shop(time.time_ns() // 1_000_000 - history * step - (minutes + 2) * 60_000)
    with Broker() as broker, with_package("own-topics", hosts=[HOST], variables=listeners) as debian:
        broker.create_topics([SEARCHES, CLICKS])
        for topic, records in shop.traffic(history, step).items():
            broker.write(topic, records)
        lines = [line.replace("kafka-1:9092", f"{HOST}:{broker.plain}") for line in lines]
        init, check, gold, start, incidents = map(shlex.split, lines)

        watch = Watch(update)
        install(debian)
        proposed = debian.run(*init)
        require("100 %" in proposed and "Not found" not in proposed, proposed)
        debian.run(*check)
        debian.run(*gold)
        watch.result("gold")
        sidecar = debian.start(*start)
        wait("rankgauge run", 60, lambda: metrics.searches(port) is not None, sidecar)
        # A minute of the shop at a time, in event time: half an hour of it healthy, then with a broken ranking.
        for minute in range(minutes):
            for topic, records in shop.traffic(60, 1000, is_broken=minute >= 30).items():
                broker.write(topic, records)
            if minute == 0:
                # It has joined its group when the topics grow; until then, it begins at their end.
                wait_for_first(broker, shop, port, sidecar)
                watch.result("event")
            if minute == 30:
                listed = debian.run(*incidents)
                require("open" not in listed, listed)
        listed = wait("an incident", 60, lambda: opened(debian.run(*incidents)), sidecar)
        watch.result("incident")
        print(f"  {listed.strip().splitlines()[0]}")
        require("nDCG@10" in listed, listed)
        sidecar.terminate()
        require(sidecar.wait(30) == 0, sidecar.log.read_text()[-3000:])


def wait_for_first(broker, shop, port, sidecar):
    """Serves searches until one is judged."""
    began = time.monotonic()
    while not metrics.scored(port, "nDCG@10"):
        require(sidecar.poll() is None and time.monotonic() - began < 60, sidecar.log.read_text()[-3000:])
        for topic, records in shop.traffic(1, 1000).items():
            broker.write(topic, records)


def opened(text):
    return text if re.search(r"^\w+ +open ", text, re.MULTILINE) else None


def gate(update):
    """The gate of the page passes for one run and fails for a worse one, with the documented exit codes."""
    command = shlex.split(commands("docs/gate.md", "rankgauge evaluate")[0])
    codes = dict(re.findall(r"^\| ([0-3]) \| (.*) \|$", (ROOT / "docs/gate.md").read_text(), re.MULTILINE))
    require("passed" in codes["0"] and "miss" in codes["3"], codes)
    examples = "/usr/share/doc/rankgauge/examples"
    with with_package("gate") as debian:
        watch = Watch(update)
        install(debian)
        require("V1.jsonl" in command, command)
        debian.run(*["V5.jsonl" if word == "V1.jsonl" else word for word in command], folder=examples)
        failed = debian.run(*command, folder=examples, status=3)
        watch.result("gate")
        require("The gate failed" in failed, failed)


def wheel(update):
    """pip installs the wheel, and the first example of the page runs."""
    pip = shlex.split(commands("docs/python.md", "pip install rankgauge")[0], comments=True)
    (example,) = commands("docs/python.md", "import rankgauge")
    with Debian("wheel") as debian:
        debian.run("apt-get", "install", "--yes", "--no-install-recommends", "python3-venv")
        debian.put(artefact("wheels", "rankgauge-*.whl"))
        watch = Watch(update)
        debian.run("python3", "-m", "venv", "quality")
        # The wheel is downloaded: no index.
        debian.run(f"quality/bin/{pip[0]}", *pip[1:], "--no-index", "--find-links", "/root")
        (debian.root / "root/example.py").write_text(example)
        debian.run("quality/bin/python", "example.py")
        watch.result("wheel")


def chart(update):
    """helm installs the chart from a registry into an API server."""
    command = shlex.split(stated("docs/install.md", r"helm install rankgauge oci://[^`]*"))
    published = next(word for word in command if word.startswith("oci://"))
    with tempfile.TemporaryDirectory() as folder, Cluster() as api, Debian("chart", variables={"KUBECONFIG": "/root/kubeconfig"}) as debian:
        registry = subprocess.Popen([tool("registry")], stdout=subprocess.PIPE, text=True)
        try:
            address = registry.stdout.readline().strip()
            run(tool("helm"), "package", ROOT / "deploy/helm/rankgauge", "--destination", folder)
            (package,) = pathlib.Path(folder).iterdir()
            place = published.replace("oci://ghcr.io", f"oci://{address}")
            require(place != published, published)
            run(tool("helm"), "push", "--plain-http", package, place.removesuffix("/rankgauge"))
            debian.put(tool("helm"), "/usr/local/bin")
            authority = debian.put(api.folder / "certificates/apiserver.crt")
            config = (api.folder / "kubeconfig").read_text().replace(str(api.folder / "certificates/apiserver.crt"), f"/root/{authority}")
            (debian.root / "root/kubeconfig").write_text(config)
            watch = Watch(update)
            debian.run(*[place if word == published else word for word in command], "--plain-http")
            objects = wait("objects", 60, api.objects)
            watch.result("chart")
            kinds = {name.split("/")[0] for name in objects}
            require({"statefulset.apps", "configmap", "serviceaccount"} <= kinds, objects)
            print(f"  {len(objects)} objects")
            debian.run("helm", "uninstall", "rankgauge")
        finally:
            registry.terminate()
            registry.wait(20)


def demo(update):
    """A clean clone shows the first numbers of the demo."""
    homes = {os.environ.get(f"{name.upper()}_HOME", pathlib.Path.home() / f".{name}"): f"/root/.{name}" for name in ("cargo", "rustup")}
    port = free_port()
    variables = {"PATH": "/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CARGO_NET_OFFLINE": "true"}
    with Debian("demo", binds=homes, variables=variables) as debian:
        # What README.md names; tests/setup.sh adds what is missing.
        debian.run("apt-get", "install", "--yes", "--no-install-recommends", "make", "gcc", "g++", "libssl-dev")
        watch = Watch(update)
        run("git", "clone", "--quiet", "--no-hardlinks", ROOT, debian.root / "root/rankgauge")
        flags = f"--for 10s --listen 127.0.0.1:{port} --admin-listen 127.0.0.1:{free_port()}"
        process = debian.start("make", "demo", f"DEMO={flags}", folder="/root/rankgauge")
        wait("scores of the demo", LIMIT, lambda: metrics.scored(port, "nDCG@10"), process)
        watch.result("demo")
        require(process.wait(60) == 0, process.log.read_text()[-3000:])


run_steps([package, own_topics, gate, wheel, chart, demo])
