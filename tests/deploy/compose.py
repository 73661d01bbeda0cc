"""Test of deploy/compose.yaml: its schema, and the configuration of every service by the service's own checker.

`make compose-test` runs it. Nothing is started: there is no Docker here.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

from broker import ROOT, TARGET

COMPOSE = ROOT / "deploy/compose.yaml"


def run(*command, fails=False, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if (done.returncode != 0) != fails:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def source(services, service, inside):
    """File of the repository behind a path of a container."""
    for volume in services[service]["volumes"]:
        if volume["type"] == "bind" and inside.startswith(volume["target"]):
            found = pathlib.Path(volume["source"] + inside.removeprefix(volume["target"]))
            assert found.exists(), f"{service}: {inside} is {found}, which does not exist"
            return found
    sys.exit(f"FAILED: {service} mounts nothing at {inside}")


def kafka(services, folder):
    """KAFKA_X_Y is the property x.y. Kafka's own tool reads the result and formats a folder with it."""
    environment = services["kafka"]["environment"]
    properties = {name.removeprefix("KAFKA_").replace("_", ".").lower(): value for name, value in environment.items()}
    properties["log.dirs"] = folder / "kafka"
    file = folder / "server.properties"
    write = lambda: file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    write()
    command = ["java", "-cp", f"{TARGET}/kafka/libs/*", "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", file]
    run(*command)
    properties["listeners"] = "PLAINTEXT://:9092"
    properties["log.dirs"] = folder / "other"
    write()
    run(*command, fails=True)


def main():
    program = TARGET / "deploy/bin/compose"
    services = json.loads(run(program, COMPOSE))["services"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong = COMPOSE.read_text().replace("restart: on-failure", "restrat: on-failure")
        (folder / "wrong.yaml").write_text(wrong)
        run(program, folder / "wrong.yaml", fails=True)
        print(f"ok: Compose accepts {len(services)} services")

        kafka(services, folder)
        print("ok: Kafka accepts its properties")

        binary = TARGET / "debug/rankgauge"
        run(binary, "produce", "--library", "shop", "--searches", "10", "--output", folder, "--gold", folder / "gold.json")
        config = source(services, "rankgauge", "/etc/rankgauge/rankgauge.yaml").read_text()
        config = config.replace("/etc/rankgauge/gold", str(folder)).replace("/var/lib/rankgauge", str(folder / "checkpoint"))
        (folder / "rankgauge.yaml").write_text(config)
        run(binary, "check", "--config", folder / "rankgauge.yaml")
        for service in ("rankgauge", "traffic"):
            word = services[service]["command"][0]
            run(binary, word, "--help")
        print("ok: rankgauge accepts its configuration")

        # The rules lie beside the configuration in the container.
        prometheus = source(services, "prometheus", "/etc/prometheus/prometheus.yaml").read_text()
        (folder / "prometheus").mkdir()
        (folder / "prometheus/prometheus.yaml").write_text(prometheus)
        (folder / "prometheus/rules").symlink_to(source(services, "prometheus", "/etc/prometheus/rules"))
        checked = run("promtool", "check", "config", folder / "prometheus/prometheus.yaml")
        assert "rules found" in checked, checked
        print("ok: promtool accepts configuration and rules")

        run("amtool", "check-config", source(services, "alertmanager", "/etc/alertmanager/alertmanager.yaml"))
        print("ok: amtool accepts the configuration")

    # Grafana has no checker.
    data = yaml.safe_load(source(services, "grafana", "/etc/grafana/provisioning/datasources/prometheus.yaml").read_text())
    host, port = re.match(r"http://(\w+):(\d+)$", data["datasources"][0]["url"]).groups()
    assert host in services and any(str(each["target"]) == port for each in services[host]["ports"]), data
    provider = yaml.safe_load(source(services, "grafana", "/etc/grafana/provisioning/dashboards/rankgauge.yaml").read_text())
    dashboards = source(services, "grafana", provider["providers"][0]["options"]["path"])
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert source(services, "grafana", home).parent == dashboards
    print("ok: Grafana's files name existing services and folders")

    # Addresses of other services.
    scraped = yaml.safe_load(prometheus)
    targets = [scraped["scrape_configs"][0]["static_configs"][0]["targets"][0], scraped["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"][0]]
    for target in [*targets, "kafka:9092"]:
        assert target.split(":")[0] in services, target
    assert "brokers: kafka:9092" in config
    print("ok: every address is a service")


main()
