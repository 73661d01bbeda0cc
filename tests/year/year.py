"""Months of simulated traffic through the engine and the shipped rules, and the pages they lead to.

    python3 tests/year/year.py BINARY FOLDER [--shop small|medium|large] [--days N] [--seed N] [--check]

`make year` runs it. Searches and clicks are written in event time into `rankgauge replay --every 1m`, which prints the
counters of each minute. promtool makes blocks of them, with those of the recorded rules. A Prometheus over
these blocks answers range queries of the expression of each alert at steps of five minutes; `for` and `keep_firing_for` are
applied here. A page is a critical alert of one deployment and variant; alerts within half an hour are one page.

The command fails if a cause has no page, or if there are more pages without a cause than two in a year. With --check, the
rule engine of Prometheus evaluates the rules over the first fortnight as well, and the alerts must fire at the same times.
"""

import argparse
import json
import math
import pathlib
import random
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import yaml

import engine

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy/prometheus/rules"
DAY = 86_400
STEP = 300
# Monday, 2025-01-06 00:00 UTC.
START = 1_736_121_600
QUERIES = 200
# Searches of which a shop repeats a random one.
POOL = 20_000
# Days of the year on which the small shop is closed.
HOLIDAYS = {1, 60, 109, 121, 127, 156, 227, 276, 281, 282, 283, 359, 360}
CONFIGURATION = {
    "kafka.search_topic": "events",
    "kafka.feedback_topic": "events",
    "measures": ["nDCG@10", "CTR", "ZeroResult"],
    "detection.measures": ["nDCG@10", "CTR"],
    "detection.series": 2,
    "deployments.from": ["labels.build"],
    "targets": [{"latency": {"stage": "all", "quantile": 0.95, "target": 1}}],
}


class Shop:
    """Rate of searches by time, deployments, and causes: name, first and last second, and what changes."""

    def __init__(self, name):
        self.name = name
        self.days = {"small": 364, "medium": 364, "large": 56}[name]
        self.causes = []
        self.has_deployments = name == "large"
        if name == "large":
            for week, cause in ((2, "ranking"), (4, "ranking"), (5, "outage"), (6, "ranking")):
                first = START + week * 7 * DAY + 10 * 3600
                self.causes.append((cause, first, first + (3600 if cause == "outage" else 5 * 3600)))

    def rate(self, now):
        """Searches a second."""
        day, second = divmod(now - START, DAY)
        hour = second / 3600
        if self.name == "small":
            if not 8 <= hour < 19:
                return 0.0
            weekend = 0.15 if day % 7 >= 5 else 1.0
            holiday = 0.1 if day in HOLIDAYS else 1.0
            # 300 on a working day.
            return weekend * holiday * 300 * (math.pi / 2) / (11 * 3600) * math.sin(math.pi * (hour - 8) / 11)
        mean = 1.0 if self.name == "medium" else 50.0
        return mean * (1 + 0.6 * math.sin(2 * math.pi * (hour - 9) / 24))

    def bots(self, now):
        """Searches a second of a bot, which repeats a few queries of the day for an hour and never clicks."""
        return 20.0 if self.name == "large" and 3 <= (now - START) % DAY / 3600 < 4 else 0.0

    def build(self, now):
        """Version of the service, which is deployed on Wednesdays at 14:00 in the large shop."""
        return (now - START + 5 * DAY - 14 * 3600) // (7 * DAY) if self.has_deployments else 0

    def cause(self, now):
        return next((name for name, first, last in self.causes if first <= now < last), None)


def gold():
    queries = [
        {"query_id": f"q{number}", "query_text": f"query {number}", "ground_truth": {f"d{number}-{at}": 3 - at for at in range(3)}}
        for number in range(QUERIES)
    ]
    return {"version": "year", "created_at": "2025-01-01", "queries": queries}


def searches(chance, skill):
    """Searches without id and time: the text of the other members, the clicked document if any, and its delay."""
    weights = [1 / (number + 3) for number in range(QUERIES)]
    made = []
    for query in chance.choices(range(QUERIES), weights, k=POOL):
        relevant = [f"d{query}-{at}" for at in range(3) if chance.random() < skill[query]]
        others = [f"x{query}-{at}" for at in range(10 - len(relevant))]
        place = 0 if chance.random() < skill[query] else 2
        ids = others[:place] + relevant + others[place:]
        latency = 120 * math.exp(chance.gauss(0, 0.6))
        results = ",".join(f'{{"id":"{it}"}}' for it in ids)
        members = f'"query":"query {query}","variant":"main","latency_ms":{latency:.1f},"results":[{results}]}}\n'
        is_clicked = relevant and chance.random() < 0.5 / (1 + place)
        made.append((members, relevant[0] if is_clicked else None, chance.randrange(2_000, 50_000)))
    return made


def events(shop, days, seed, write):
    """Writes searches and clicks in the order of time."""
    chance = random.Random(seed)
    skill = [chance.betavariate(6, 2) for _ in range(QUERIES)]
    usual, worse = searches(chance, skill), searches(chance, [0.6 * it for it in skill])
    of_bot = []
    clicks = []
    number = 0
    for minute in range(START, START + days * DAY, 60):
        cause = shop.cause(minute)
        served = 0.0 if cause == "outage" else 60.0
        found = chance.choices(worse if cause == "ranking" else usual, k=poisson(chance, served * shop.rate(minute)))
        bots = shop.bots(minute)
        of_bot = (of_bot or chance.choices(usual, k=5)) if bots else []
        if bots:
            found += [(members, None, 0) for members, _, _ in chance.choices(of_bot, k=poisson(chance, served * bots))]
            chance.shuffle(found)
        times = sorted(chance.random() for _ in found)
        labels = f'"labels":{{"build":"{shop.build(minute)}"}}'
        lines = []
        for at, (members, clicked, delay) in zip(times, found):
            now = int((minute + 60 * at) * 1000)
            number += 1
            lines.append((now, f'{{"query_id":"s{number}","ts":{now},{labels},{members}'))
            if clicked:
                after = now + delay
                clicks.append((after, f'{{"event_id":"c{number}","query_id":"s{number}","ts":{after},"type":"click",'
                                      f'"object_id":"{clicked}"}}\n'))
        due = (minute + 60) * 1000
        lines += [it for it in clicks if it[0] < due]
        clicks = [it for it in clicks if it[0] >= due]
        lines.sort()
        write("".join(line for _, line in lines).encode())


def poisson(chance, mean):
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, count, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        count += 1
        product *= chance.random()
    return count


def duration(text):
    units = {"s": 1, "m": 60, "h": 3600, "d": DAY}
    return int(text[:-1]) * units[text[-1]] if text else 0


def load_rules():
    """Alerts, and recording rules by the number of rules below them."""
    groups = [group for file in sorted(RULES.glob("*.rules.yaml")) for group in yaml.safe_load(file.read_text())["groups"]]
    rules = [rule for group in groups for rule in group["rules"]]
    recorded = {}
    for rule in rules:
        if "record" in rule:
            recorded.setdefault(rule["record"], []).append(rule)
    below = {name: {it for rule in of for it in re.findall(r"rankgauge:\w+:\w+", rule["expr"])} for name, of in recorded.items()}
    levels = []
    known = set()
    while len(known) < len(recorded):
        level = [name for name in recorded if name not in known and below[name] <= known]
        if not level:
            sys.exit("FAILED: recording rules depend on each other in a circle")
        levels.append([rule for name in level for rule in recorded[name]])
        known.update(level)
    return [rule for rule in rules if "alert" in rule], levels


def names_in(rules):
    text = " ".join(rule["expr"] for rule in rules)
    return sorted(set(re.findall(r"\brankgauge_\w+", text)))


class Prometheus:
    """Prometheus over the blocks of a folder, without scrapes."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        configuration = folder / "prometheus.yaml"
        configuration.write_text("global: {}\n")
        self.log = open(folder / "prometheus.log", "a")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={self.address}", "--storage.tsdb.retention.time=20y", "--query.max-samples=200000000"],
            stdout=self.log, stderr=self.log)
        limit = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > limit or self.process.poll() is not None:
                    sys.exit(f"FAILED: Prometheus does not start; see {folder / 'prometheus.log'}")
                time.sleep(0.1)

    def range(self, expr, first, last):
        """Series of an expression: labels, and its values by time."""
        found = {}
        for start in range(first, last, 10_000 * STEP):
            form = {"query": expr, "start": start, "end": min(last, start + 9_999 * STEP), "step": STEP}
            body = urllib.parse.urlencode(form).encode()
            with urllib.request.urlopen(f"http://{self.address}/api/v1/query_range", body, timeout=3600) as answer:
                for series in json.load(answer)["data"]["result"]:
                    labels = {name: value for name, value in series["metric"].items() if name != "__name__"}
                    values = found.setdefault(json.dumps(labels, sort_keys=True), [])
                    values += [(int(at), value) for at, value in series["values"]]
        return found

    def samples(self, names, first, last):
        """Stored samples of the families `names`: labels, with the name, and values by time."""
        form = {"query": f'{{__name__=~"{"|".join(names)}|up"}}[{last - first}s]', "time": last - 1}
        body = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query", body, timeout=3600) as answer:
            series = json.load(answer)["data"]["result"]
        return [(it["metric"], [(round(float(at)), float(value)) for at, value in it["values"]]) for it in series]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def blocks(file, folder):
    """Blocks of the samples of a day: one or two, not twelve."""
    run("promtool", "tsdb", "create-blocks-from", "--max-block-duration=54h", "openmetrics", "-q", file, folder / "data")


def counters(binary, folder, shop, days, seed, sample, wanted):
    """Blocks with the counters after each `sample` of time."""
    (folder / "gold.json").write_text(json.dumps(gold()))
    configuration = dict(CONFIGURATION, **{"gold.paths": [str(folder / "gold.json")]})
    (folder / "rankgauge.yaml").write_text(yaml.safe_dump(nested(configuration)))
    replay = subprocess.Popen(
        [binary, "replay", "--config", folder / "rankgauge.yaml", "--search", "/dev/stdin", "--every", sample,
         "--metrics", ",".join(wanted)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr)
    writer = threading.Thread(target=lambda: (events(shop, days, seed, replay.stdin.write), replay.stdin.close()))
    writer.start()
    constant = ["up", "rankgauge_build_info", "rankgauge_kafka_connected"]
    labels = 'job="rankgauge",instance="a"'
    step = duration(sample)
    day, path, out, due = None, folder / "day.om", None, START

    def sample_at(seconds):
        """Starts the file of the day, and writes the series of a process that is up, also before its first event."""
        nonlocal day, out, due
        while due <= seconds:
            if due // DAY != day:
                finish()
                day, out = due // DAY, path.open("w")
            for name in constant:
                out.write(f"{name}{{{labels}}} 1 {due}\n")
            due += step

    def finish():
        if out:
            out.write("# EOF\n")
            out.close()
            blocks(path, folder)

    for line in replay.stdout:
        line = line.decode().rstrip("\n")
        if line == "# EOF":
            break
        series, value, at = line.rsplit(" ", 2)
        sample_at(int(at.split(".")[0]))
        name, _, rest = series.partition("{")
        rest = f",{rest}" if rest else "}"
        out.write(f"{name}{{{labels}{rest} {value} {at}\n")
    # The last evening has no event.
    sample_at(START + days * DAY - step)
    finish()
    writer.join()
    if replay.wait() != 0:
        sys.exit("FAILED: replay")


def nested(flat):
    tree = {}
    for key, value in flat.items():
        *above, last = key.split(".")
        at = tree
        for part in above:
            at = at.setdefault(part, {})
        at[last] = value
    return tree


def firing(times, waits, keeps):
    """Intervals in which an alert fires: `waits` after it began to hold, and until `keeps` after it ended."""
    spans = []
    for at in times:
        if spans and at - spans[-1][1] <= STEP:
            spans[-1][1] = at
        else:
            spans.append([at, at])
    fired = []
    for first, last in spans:
        first += waits
        if first > last:
            continue
        if fired and first <= fired[-1][1] + STEP:
            fired[-1][1] = last + keeps
        else:
            fired.append([first, last + keeps])
    return fired


def pages(alerts):
    """Critical alerts of one deployment and variant within half an hour are one page."""
    found = []
    for first, last, alert, labels in sorted(alerts, key=lambda it: it[:3]):
        key = (labels.get("job"), labels.get("variant"))
        same = next((page for page in found if page["key"] == key and first <= page["last"] + 1800), None)
        if same:
            same["last"] = max(same["last"], last)
            same["alerts"].add(alert)
        else:
            found.append({"key": key, "first": first, "last": last, "alerts": {alert}})
    return found


def poisson_interval(count):
    """Exact interval of 95 % of the mean of a Poisson count, by bisection."""
    def tail(mean, least):
        return 1 - sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(least))

    def solve(is_high):
        low, high = 0.0, 10.0 * count + 20
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if is_high(middle) else (middle, high)
        return low

    lower = solve(lambda mean: tail(mean, count) > 0.025) if count else 0.0
    return lower, solve(lambda mean: 1 - tail(mean, count + 1) < 0.025)


def simulate(binary, folder, shop, days, seed, sample, is_checked):
    alerts, levels = load_rules()
    wanted = names_in(alerts + [rule for level in levels for rule in level])
    counters(binary, folder, shop, days, seed, sample, wanted)
    first, last = START, START + days * DAY
    end_of_check = min(last, START + 14 * DAY)
    if is_checked:
        prometheus = Prometheus(folder)
        evaluated = engine.evaluate(folder, RULES, prometheus.samples(wanted, first, end_of_check), (first, end_of_check), STEP)
        prometheus.stop()
    for level in levels:
        prometheus = Prometheus(folder)
        days_of_level = {}
        for rule in level:
            for labels, values in prometheus.range(rule["expr"], first, last).items():
                labels = ",".join(f"{key}={json.dumps(of)}" for key, of in {**json.loads(labels), **rule.get("labels", {})}.items())
                for at, value in values:
                    line = f"{rule['record']}{{{labels}}} {value} {at}\n"
                    days_of_level.setdefault(at // DAY, []).append(line)
        prometheus.stop()
        for lines in days_of_level.values():
            file = folder / "day.om"
            file.write_text("".join(lines) + "# EOF\n")
            blocks(file, folder)
    prometheus = Prometheus(folder)
    fired = []
    for alert in alerts:
        waits, keeps = duration(alert.get("for")), duration(alert.get("keep_firing_for"))
        for labels, values in prometheus.range(alert["expr"], first, last).items():
            labels = json.loads(labels)
            # An alert on an incident has the severity of the incident.
            severity = labels.pop("severity", alert["labels"]["severity"])
            for start, end in firing([at for at, _ in values], waits, keeps):
                fired.append((start, end, alert["alert"], severity, labels))
    prometheus.stop()
    if is_checked:
        mine = [(start, min(end, end_of_check - STEP), name, labels) for start, end, name, _, labels in fired if start < end_of_check]
        differences = engine.differences(mine, evaluated, 2 * STEP)
        if differences:
            sys.exit("FAILED: the rule engine of Prometheus differs:\n" + "\n".join(differences))
        print(f"the rule engine of Prometheus has the same {len(evaluated)} alerts in {(end_of_check - first) // DAY} days")
    return fired


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shop", choices=["small", "medium", "large"], default="small")
    parser.add_argument("--days", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", default="1m", help="time between two samples of the counters")
    parser.add_argument("--check", action="store_true", help="compare the first fortnight with the rule engine of Prometheus")
    # A cause of the test: ranking or outage, the day, the hour and the number of hours.
    parser.add_argument("--cause", action="append", default=[], metavar="NAME:DAY:HOUR:HOURS")
    arguments = parser.parse_args()
    shop = Shop(arguments.shop)
    days = arguments.days or shop.days
    for cause in arguments.cause:
        name, day, hour, hours = cause.split(":")
        begin = START + int(day) * DAY + int(float(hour) * 3600)
        shop.causes.append((name, begin, begin + int(float(hours) * 3600)))
    arguments.folder.mkdir(parents=True)
    (arguments.folder / "data").mkdir()
    fired = simulate(arguments.binary, arguments.folder, shop, days, arguments.seed, arguments.sample, arguments.check)
    for start, end, name, severity, labels in sorted(fired, key=lambda it: (it[0], it[2])):
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(start))
        of = " ".join(f"{key}={value}" for key, value in labels.items() if key not in ("job", "instance"))
        print(f"{when} {(end - start) // 60:>6} min {severity:<8} {name} {of}")
    found = pages([(start, end, name, labels) for start, end, name, severity, labels in fired if severity == "critical"])
    causes = [(name, begin, end + DAY) for name, begin, end in shop.causes if begin < START + days * DAY]
    is_caused = lambda page, cause: cause[1] <= page["first"] <= cause[2]
    false = [page for page in found if not any(is_caused(page, cause) for cause in causes)]
    missed = [cause for cause in causes if not any(is_caused(page, cause) for page in found)]
    lower, upper = poisson_interval(len(false))
    scale = 364 / days
    print(f"{arguments.shop}: {days} days, {len(causes)} causes, {len(causes) - len(missed)} found; pages without a cause: "
          f"{len(false)}, {len(false) * scale:.1f} a year (95 %: {lower * scale:.1f} to {upper * scale:.1f})")
    if missed or len(false) > 2 * days // 364:
        sys.exit("FAILED: " + ", ".join([f"missed {it[0]}" for it in missed] + [f"false {sorted(it['alerts'])}" for it in false]))


if __name__ == "__main__":
    main()
