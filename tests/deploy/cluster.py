"""Test of the chart and of the Kustomize folders against a real Kubernetes API server.

`make deploy-test` runs it. It starts etcd and kube-apiserver on loopback, with the custom resources of
the Prometheus operator, KEDA, Flagger, Argo Rollouts and Strimzi and a namespace that enforces the Pod Security
standard `restricted`. There is no kubelet: a pod is admitted, but not started.

    cluster.py [--update] [STEP…]     STEPs: lint, identity, admin, alerts, schemas, score, keys, kustomize, upgrade, cluster

With --update, it writes the manifests that are derived from the chart.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import yaml

from apiserver import DEFINITIONS, NAMESPACE, TOOLS, Cluster, custom_resources, documents, tool
from broker import ROOT, TARGET, Broker, free_port
from steps import Failed, require, run, run_steps

CHART = ROOT / "deploy/helm/rankgauge"
EXAMPLE = ROOT / "deploy/helm/examples/search"
STANDALONE = ROOT / "deploy/kubernetes/standalone"
SIDECAR = ROOT / "deploy/kubernetes"
VERSIONS = ["1.31", "1.32", "1.33", "1.34", "1.35"]
# Version that rendering assumes.
RENDERED_FOR = ["--kube-version", "1.35.0"]
# Values of the chart whose objects equal those of the Kustomize overlay.
OVERLAY_VALUES = CHART / "ci/monitoring-values.yaml"


def values_files():
    return [None, *sorted(CHART.glob("ci/*-values.yaml"))]


def render(chart, *options, release="rankgauge"):
    return run(tool("helm"), "template", release, chart, "--namespace", NAMESPACE, *RENDERED_FOR, *options)


def with_values(file):
    return ["--values", file] if file else []


# Steps without a cluster


def example_chart(folder):
    """Copy of the example with its dependency."""
    copy = pathlib.Path(folder) / "helm/examples/search"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("charts", "*.lock"))
    shutil.copytree(CHART, pathlib.Path(folder) / "helm/rankgauge")
    run(tool("helm"), "dependency", "build", copy)
    return copy


def lint(_):
    """`helm lint --strict` for every file of values; wrong values are rejected."""
    for file in values_files():
        run(tool("helm"), "lint", "--strict", CHART, *with_values(file), *RENDERED_FOR)
    with tempfile.TemporaryDirectory() as folder:
        run(tool("helm"), "lint", "--strict", example_chart(folder), *RENDERED_FOR)
    for wrong, expected in [
        ("mode=other", "mode"),
        ("imagee.tag=1", "imagee"),
        ("workload.replicas=many", "replicas"),
        ("config.engine.memory=lots", "memory"),
        ("fullnameOverride=gauge", "has to contain"),
        ("mode=sidecar,podMonitor.enabled=true", "podMonitor.selector"),
        ("mode=sidecar,service.enabled=true", "mode: standalone"),
        ("service.enabled=true", "config.admin.web_config_file"),
        ("service.enabled=true,config.admin.listen=none", "config.admin.listen: none"),
        ("service.port=0", "port"),
    ]:
        message = run(
            tool("helm"), "template", "rankgauge", CHART, *RENDERED_FOR, "--set", wrong, fails=True
        )
        require(expected in message, f"--set {wrong}: {message}")


def identity(_):
    """Two releases have two consumer groups, and members of other names; a configured group stays."""

    def members(namespace, release, *options):
        text = run(tool("helm"), "template", release, CHART, "--namespace", namespace, *RENDERED_FOR,
                   "--set", "fullnameOverride=rankgauge", *options)
        objects = documents(text)
        files = [found["data"]["rankgauge.yaml"] for found in objects
                 if found["kind"] == "ConfigMap" and "rankgauge.yaml" in found["data"]]
        group = yaml.safe_load(files[0])["kafka"]["group_id"]
        pods = [found for found in objects if found["kind"] == "StatefulSet"]
        env = {it["name"]: it for it in pods[0]["spec"]["template"]["spec"]["containers"][0]["env"]}
        name = env["RANKGAUGE__KAFKA__PROPERTIES__GROUP_INSTANCE_ID"]["value"]
        for variable in ["POD_NAMESPACE", "POD_NAME"]:
            name = name.replace(f"$({variable})", env[variable]["valueFrom"]["fieldRef"]["fieldPath"])
        return group, name

    of_pod = "metadata.namespace.metadata.name"
    for namespace in ["shop", "test"]:
        found = members(namespace, "search")
        require(found == (f"{namespace}.rankgauge", of_pod), found)
    configured = members("shop", "search", "--set", "config.kafka.group_id=mine")
    require(configured == ("mine", of_pod), configured)
    print("ok: consumer groups and members of releases")


def admin(_):
    """The Service of the admin listener is the one that the examples of pipelines call, and is off by default."""
    require("rankgauge-admin" not in render(CHART), "no Service of the admin listener by default")
    values = CHART / "ci/admin-values.yaml"
    for options, port, of_pod in [
        ([], 9469, 9469),
        (["--set", "service.port=443,service.annotations.team=search,config.admin.listen=127.0.0.1:9000"], 443, 9000),
    ]:
        objects = {f"{each['kind']} {each['metadata']['name']}": each
                   for each in documents(render(CHART, "--values", values, *options))}
        service = objects["Service rankgauge-admin"]
        require([(it["port"], it["targetPort"]) for it in service["spec"]["ports"]] == [(port, "admin")], service)
        require(service["metadata"].get("annotations") == ({"team": "search"} if options else None), service)
        pod = objects["StatefulSet rankgauge"]["spec"]["template"]
        require(service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), "the Service selects the pods")
        ports = {it["name"]: it["containerPort"] for it in pod["spec"]["containers"][0]["ports"]}
        config = yaml.safe_load(objects["ConfigMap rankgauge-config"]["data"]["rankgauge.yaml"])
        require((ports["admin"], config["admin"]["listen"]) == (of_pod, f"0.0.0.0:{of_pod}"), (ports, config["admin"]))
        allowed = {it["ports"][0]["port"]: it.get("from") for it in objects["NetworkPolicy rankgauge"]["spec"]["ingress"]}
        require(len(allowed["admin"]) == 2, allowed)
    for name in ["argo-cd.yaml", "flux.yaml"]:
        called = set(re.findall(r"https://[^\s\",]+", (ROOT / "examples/deployments" / name).read_text()))
        require(called == {f"https://rankgauge-admin.{NAMESPACE}.svc:9469"}, f"{name}: {called}")
    print("ok: the Service of the admin listener")


def rules_of(groups):
    """Alerts by name, and the names of the recorded rules."""
    rules = [rule for group in groups for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules if "alert" in rule}, [rule["record"] for rule in rules if "record" in rule]


def mixin(config, option):
    """Groups of the mixin with a configuration."""
    program = f"((import '{ROOT}/deploy/mixin/mixin.libsonnet') + {{ _config+:: {json.dumps(config)} }}).{option}"
    return json.loads(run(tool("jsonnet"), "-e", program))["groups"]


def alerts(_):
    """The chart and the mixin change alerts in the same way, and promtool accepts the result."""
    changes = {
        "disabled": ["RankgaugeNoFeedback"],
        "severity": {"RankgaugeNoEvents": "warning"},
        "for": {"RankgaugeDown": "30m"},
        "alertLabels": {"team": "search"},
        "runbookUrl": "https://wiki.search.internal/",
    }

    def chart(values):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"prometheusRule": {"enabled": True, **values}}, file)
            file.flush()
            objects = documents(render(CHART, "--values", file.name))
        return [group for found in objects if found["kind"] == "PrometheusRule" for group in found["spec"]["groups"]]

    plain, recorded = rules_of(chart({}))
    written = [group for file in sorted((ROOT / "deploy/prometheus/rules").glob("*.yaml"))
               for group in yaml.safe_load(file.read_text())["groups"]]
    require(rules_of(written) == (plain, recorded), "without changes, the rules of the chart are those of the files")
    changed, still_recorded = rules_of(chart(changes))
    require(still_recorded == recorded, "no recorded rule is left out")
    require(set(plain) - set(changed) == {"RankgaugeNoFeedback"}, "a disabled alert is left out")
    require(changed["RankgaugeNoEvents"]["labels"]["severity"] == "warning", "another severity")
    require(changed["RankgaugeDown"]["for"] == "30m", "another duration")
    for name, rule in changed.items():
        require(rule["labels"]["team"] == "search", f"{name} has the label")
        link = f"https://wiki.search.internal/{name.lower()}"
        require(rule["annotations"]["runbook_url"] == link, f"{name}: {rule['annotations']['runbook_url']}")
        require(rule["expr"] == plain[name]["expr"], f"{name}: the expression stays")

    # As by the command in docs/operations.md for rules that are not those of the chart.
    regional = {"clusterLabels": ["region"]}
    kept = lambda text: text.replace("cluster, namespace, job", "region, cluster, namespace, job")
    by_region, _ = rules_of(chart(regional))
    require(by_region == {name: json.loads(kept(json.dumps(rule))) for name, rule in plain.items()}, "rules by region")

    as_map, _ = rules_of(chart({"disabled": {"RankgaugeNoFeedback": True, "RankgaugeDown": False}}))
    require(set(plain) - set(as_map) == {"RankgaugeNoFeedback"}, "the map of disabled alerts")
    for option in ["disabled", "severity", "for"]:
        wrong = {"disabled": ["RankgaugeDwon"], "severity": {"RankgaugeDwon": "info"}, "for": {"RankgaugeDwon": "1m"}}
        assignment = {option: wrong[option]}
        message = run(tool("jsonnet"), "-e", f"((import '{ROOT}/deploy/mixin/mixin.libsonnet') + "
                      f"{{ _config+:: {json.dumps(assignment)} }}).prometheusAlerts", fails=True)
        require(option in message and "RankgaugeDwon" in message, message)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"prometheusRule": {"enabled": True, **assignment}}, file)
            file.flush()
            message = run(tool("helm"), "template", "rankgauge", CHART, *RENDERED_FOR, "--values", file.name, fails=True)
        require(f"prometheusRule.{option}" in message and "RankgaugeDwon" in message, message)

    for values in [{}, changes, regional]:
        charted, _ = rules_of(chart(values))
        mixed, none = rules_of(mixin(values, "prometheusAlerts"))
        require((mixed, none) == (charted, []), "the alerts of the mixin are those of the chart")
        require(rules_of(mixin(values, "prometheusRules")) == ({}, recorded), "the recorded rules of the mixin")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": chart(values)}, file)
            file.flush()
            run("promtool", "check", "rules", "--lint=all", file.name)
    drawn = run(tool("jsonnet"), "-e", f"std.objectFields((import '{ROOT}/deploy/mixin/mixin.libsonnet').grafanaDashboards)")
    stored = sorted(path.name for path in (ROOT / "grafana/dashboards").glob("*.json"))
    require(json.loads(drawn) == stored, f"dashboards of the mixin: {drawn}")
    print(f"ok: {len(plain)} alerts with and without changes, in the chart and in the mixin")


def swagger(version):
    """OpenAPI definitions of a Kubernetes version, from its Go module."""
    found = json.loads(run("go", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}.0", cwd="/"))
    text = (pathlib.Path(found["Dir"]) / "api/openapi-spec/swagger.json").read_text()
    return json.loads(text)["definitions"]


def strict(schema):
    """Closes every object with known properties, and allows numbers where the API server does."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return {"type": ["string", "integer"]}
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(closed.get("$ref"), str):
        name = closed["$ref"].rsplit("/", 1)[-1]
        return {"$ref": f"#/definitions/{name}"}
    is_object = isinstance(closed.get("properties"), dict)
    is_open = closed.get("x-kubernetes-preserve-unknown-fields")
    if is_object and "additionalProperties" not in closed and not is_open:
        closed["additionalProperties"] = False
    return closed


def reachable(definitions, name, found=None):
    """Names of the definitions that a definition refers to, with itself."""
    found = set() if found is None else found
    if name not in found:
        found.add(name)
        for other in re.findall(r'"#/definitions/([^"]+)"', json.dumps(definitions[name])):
            reachable(definitions, other, found)
    return found


def write_schemas(version, folder):
    definitions = {name: strict(definition) for name, definition in swagger(version).items()}
    quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    definitions[quantity] = {"type": ["string", "number"]}
    folder.mkdir(parents=True)
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", []):
            group = kind["group"].split(".")[0]
            words = [kind["kind"], *([group] if group else []), kind["version"]]
            used = {each: definitions[each] for each in reachable(definitions, name)}
            reference = {"$ref": f"#/definitions/{name}", "definitions": used}
            (folder / ("-".join(words).lower() + ".json")).write_text(json.dumps(reference))
    for definition in custom_resources():
        for version in definition["spec"]["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            schema["properties"].update(apiVersion={}, kind={}, metadata={})
            group = definition["spec"]["group"].split(".")[0]
            name = "-".join([definition["spec"]["names"]["kind"], group, version["name"]]).lower()
            (folder / f"{name}.json").write_text(json.dumps(schema))


def everything():
    """Every manifest of the repository, rendered: name and text."""
    for file in values_files():
        yield f"chart with {file.name if file else 'its defaults'}", render(CHART, *with_values(file))
    with tempfile.TemporaryDirectory() as folder:
        yield "example chart", render(example_chart(folder), release="search")
    for folder in [SIDECAR, STANDALONE / "base", STANDALONE / "overlays/monitoring"]:
        yield str(folder.relative_to(ROOT)), run("kubectl", "kustomize", folder)
    for file in examples():
        yield str(file.relative_to(ROOT)), file.read_text()


def examples():
    """Manifests that are used beside the chart."""
    folders = [SIDECAR / "scaling", SIDECAR / "rollouts", ROOT / "deploy/strimzi"]
    # The values of the chart are no manifests.
    return [file for folder in folders for file in sorted(folder.glob("*.yaml")) if not file.name.startswith("values-")]


def schemas(_):
    """kubeconform in strict mode, for every supported Kubernetes version."""
    manifests = list(everything())
    for version in VERSIONS:
        folder = TOOLS / f"schemas/{version}"
        # Last: it marks the schemas as complete, and states from which definitions they are.
        marker = folder / "complete"
        if not marker.exists() or marker.read_text() != DEFINITIONS:
            shutil.rmtree(folder, ignore_errors=True)
            write_schemas(version, folder)
            marker.write_text(DEFINITIONS)
        location = f"{folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
        for name, text in manifests:
            try:
                run(tool("kubeconform"), "-strict", "-summary", "-schema-location", location, stdin=text)
            except Failed as failed:
                raise Failed(f"{name}, Kubernetes {version}: {failed}") from None
    wrong = render(CHART).replace("automountServiceAccountToken", "automountServiceAccountTokn")
    run(tool("kubeconform"), "-strict", "-schema-location", location, stdin=wrong, fails=True)


# Checks of kube-score that do not apply, with the reason.
NOT_APPLICABLE = {
    # A CPU limit throttles, and lag grows. The request bounds the share under contention.
    "container-resources",
    # The user and the group of the image are 65532; kube-score requires more than 10000, which holds,
    # but reads only some places.
    # Probes share /healthz on purpose: readiness must not depend on the broker.
    "pod-probes-identical",
    # The image is immutable by its version; Never and IfNotPresent are choices of the operator.
    "container-image-pull-policy",
    # Spread by topologySpreadConstraints instead of anti-affinity.
    "deployment-has-host-podantiaffinity",
    "statefulset-has-host-podantiaffinity",
}


def score(_):
    """kube-score without an unexplained finding."""
    ignored = [option for check in sorted(NOT_APPLICABLE) for option in ("--ignore-test", check)]
    for file in values_files():
        text = render(CHART, *with_values(file), "--set", "networkPolicy.enabled=true",
                      "--set", "podDisruptionBudget.enabled=true", "--skip-tests")
        kept = [each for each in documents(text) if not each["apiVersion"].startswith(("monitoring.", "grafana."))]
        run(tool("kube-score"), "score", *ignored, "--output-format", "ci", "-", stdin=yaml.safe_dump_all(kept))


def settings(*files):
    """Settings in effect, by key, as rankgauge reads them."""
    options = [option for file in files for option in ("--config", file)]
    shown = run(TARGET / "debug/rankgauge", "config", "show", "--format", "json", *options)
    return {each["key"]: each["value"] for each in json.loads(shown)["settings"]}


def same(written, rendered):
    """Equal values; 0.60 and 0.6 are the same number."""
    try:
        return written == rendered or float(written) == float(rendered)
    except (TypeError, ValueError):
        return False


def keys(_):
    """Every key of the reference configuration can be set through the chart."""
    reference = (ROOT / "config/rankgauge.yaml").read_text()
    # Enables the examples: "#key: value" behind the key whose value is {} or [], after its comments.
    enabled = re.sub(r": (?:\{\}|\[\])\n((?:\s+# .*\n)*\s+#\S)", r":\n\1", reference)
    enabled = re.sub(r"^(\s*)#(\S)", r"\1\2", enabled, flags=re.MULTILINE)
    # Its file does not exist here.
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "reference.yaml").write_text(enabled)
        config = yaml.safe_load(enabled)
        # Large numbers and text that looks like a number or a date must survive.
        (folder / "values.yaml").write_text(yaml.safe_dump({"config": config, "gold": {"files": {}}}))
        rendered = documents(render(CHART, "--values", folder / "values.yaml"))
        data = next(each for each in rendered if each["metadata"]["name"] == "rankgauge-config")["data"]
        (folder / "rendered.yaml").write_text(data["rankgauge.yaml"])
        expected, found = settings(folder / "reference.yaml"), settings(folder / "rendered.yaml")
        different = {key for key in expected | found if not same(expected.get(key), found.get(key))}
        require(not different, "\n".join(f"{key}: {expected.get(key)} became {found.get(key)}" for key in sorted(different)))
        defaults = settings()
        # A section without an entry is a key of its own.
        unchanged = [key for key in defaults if not any(re.match(re.escape(key) + r"($|[.\[])", it) for it in expected)]
        require(not unchanged, f"the reference does not set {unchanged}")
        print(f"  {len(expected)} keys")


def comparable(text):
    """Objects by kind and name, without what only Helm or only Kustomize adds."""
    objects = {}
    for each in documents(text):
        meta = each["metadata"]
        meta.pop("namespace", None)
        for label in ("app.kubernetes.io/managed-by", "helm.sh/chart"):
            meta.get("labels", {}).pop(label, None)
        annotations = each.get("spec", {}).get("template", {}).get("metadata", {})
        if isinstance(annotations, dict):
            annotations.pop("annotations", None)
        is_hashed = each["kind"] == "ConfigMap" and re.search(r"-[a-z0-9]{10}$", meta["name"])
        if is_hashed and meta["name"].startswith("rankgauge-config-"):
            meta["name"] = "rankgauge-config"
        for volume in each.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", []):
            source = volume.get("configMap", {})
            source["name"] = re.sub(r"^rankgauge-config-[a-z0-9]{10}$", "rankgauge-config", source.get("name", ""))
        if each["kind"] == "ConfigMap":
            each["data"] = {key: yaml.safe_load(value) for key, value in each["data"].items()}
        objects[f"{each['kind']} {meta['name']}"] = each
    return objects


def derived(update):
    """Manifests of the Kustomize folders that are written from the chart."""
    gold = ROOT / "deploy/kubernetes/standalone/base/gold/gold.json"
    text = render(CHART, "--values", OVERLAY_VALUES, "--set-file", f"gold.files.gold\\.json={gold}",
                  "--skip-tests", "--set", "podMonitor.labels=null")
    places = {
        STANDALONE / "base/workload.yaml": ["ServiceAccount", "Service", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"],
        STANDALONE / "overlays/monitoring/podmonitor.yaml": ["PodMonitor"],
    }
    rendered = comparable(text)
    for file, kinds in places.items():
        chosen = sorted((each for each in rendered.values() if each["kind"] in kinds), key=lambda it: kinds.index(it["kind"]))
        content = "# Written by `UPDATE=1 make deploy-test` from the chart. Do not edit.\n"
        content += yaml.safe_dump_all(chosen, sort_keys=False, allow_unicode=True, width=120)
        if update:
            file.write_text(content)
        require(file.read_text() == content, f"{file.relative_to(ROOT)} differs from the chart; run UPDATE=1 make deploy-test")


def kustomize(update):
    """The Kustomize overlay and the chart render the same objects."""
    derived(update)
    gold = STANDALONE / "base/gold/gold.json"
    charted = comparable(render(CHART, "--values", OVERLAY_VALUES, "--skip-tests", "--set-file", f"gold.files.gold\\.json={gold}",
                                "--set", "podMonitor.labels=null", "--set", "prometheusRule.labels=null"))
    overlaid = comparable(run("kubectl", "kustomize", STANDALONE / "overlays/monitoring"))
    require(charted.keys() == overlaid.keys(), f"{sorted(charted)} and {sorted(overlaid)} differ")
    for name, each in charted.items():
        require(each == overlaid[name], f"{name} differs:\n{yaml.safe_dump(each)}\n{yaml.safe_dump(overlaid[name])}")
    # The sidecar of the Kustomize folder and of the chart.
    with tempfile.TemporaryDirectory() as folder:
        pod = lambda text: next(each for each in documents(text) if each["kind"] == "Deployment")["spec"]["template"]["spec"]
        charted = pod(render(example_chart(folder), release="search"))["initContainers"][0]
    written = pod(run("kubectl", "kustomize", SIDECAR))["initContainers"][0]
    for key in ["restartPolicy", "image", "args", "ports", "startupProbe", "livenessProbe", "readinessProbe", "securityContext"]:
        require(charted.get(key) == written.get(key), f"sidecar: {key}: {charted.get(key)} and {written.get(key)}")
    print(f"  {len(overlaid)} equal objects")


# The cluster


def admitted(text):
    """Pods of every workload in `text` are admitted by the API server, under `restricted`."""
    count = 0
    for each in documents(text):
        template = each if each["kind"] == "Pod" else each.get("spec", {}).get("template")
        if not isinstance(template, dict) or "containers" not in template.get("spec", {}):
            continue
        spec = dict(template["spec"])
        # These belong to objects of the cluster's administrator.
        spec.pop("priorityClassName", None)
        spec.pop("runtimeClassName", None)
        if each["kind"] != "Pod":
            claims = each["spec"].get("volumeClaimTemplates", [])
            spec["volumes"] = spec.get("volumes", []) + [
                {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} for claim in claims]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"admitted-{count}"}, "spec": spec}
        done = subprocess.run(["kubectl", "create", "--dry-run=server", "--validate=strict", "-f", "-"],
                              input=json.dumps(pod), capture_output=True, text=True, check=False)
        require(done.returncode == 0 and "warning" not in done.stderr.lower(), f"{each['metadata']['name']}: {done.stderr}")
        count += 1
    return count


def apply_strictly(text):
    """Applies objects on trial, with strict validation; a warning is a failure."""
    done = subprocess.run(["kubectl", "apply", "--dry-run=server", "--validate=strict", "-f", "-"],
                          input=text, capture_output=True, text=True, check=False)
    require(done.returncode == 0 and "warning" not in done.stderr.lower(), done.stderr)


def kubelet(release):
    """Does the part of the kubelet for the pod of `helm test`: runs its command with its ConfigMaps, here,
    and reports the result."""
    name = f"{release}-test"
    began = time.monotonic()
    while True:
        found = subprocess.run(["kubectl", "get", "pod", name, "-o", "json"], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            break
        require(time.monotonic() - began < 60, "helm test makes no pod")
        time.sleep(0.1)
    pod = json.loads(found.stdout)
    container = pod["spec"]["containers"][0]
    with tempfile.TemporaryDirectory() as root:
        for mount in container["volumeMounts"]:
            volume = next(each for each in pod["spec"]["volumes"] if each["name"] == mount["name"])
            where = pathlib.Path(root + mount["mountPath"])
            where.mkdir(parents=True)
            if "configMap" in volume:
                data = json.loads(run("kubectl", "get", "configmap", volume["configMap"]["name"], "-o", "json"))["data"]
                for file, content in data.items():
                    for folder in ("/etc/rankgauge", "/var/lib/rankgauge"):
                        content = content.replace(folder, root + folder)
                    (where / file).write_text(content)
        arguments = [argument.replace("/etc/rankgauge", f"{root}/etc/rankgauge") for argument in container["args"]]
        done = subprocess.run([TARGET / "debug/rankgauge", *arguments], capture_output=True, text=True, check=False)
    phase = "Succeeded" if done.returncode == 0 else "Failed"
    run("kubectl", "patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"phase": phase}}))
    return done


def helm_test(release, succeeds):
    waiting = subprocess.Popen([tool("helm"), "test", release, "--timeout", "90s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    done = kubelet(release)
    output, _ = waiting.communicate(timeout=120)
    require((waiting.returncode == 0) == succeeds, f"helm test: {output}\n{done.stdout}{done.stderr}")


def previous_chart(folder):
    """The chart before its last change."""
    git = lambda *words, **options: run("git", "-C", ROOT, *words, **options)
    place = str(CHART.relative_to(ROOT))
    last = git("log", "--max-count=1", "--format=%H", "--", place).strip()
    require(last and git("rev-list", "--max-count=2", last).count("\n") == 2, "the test needs the history of the chart: git fetch --unshallow")
    archive = pathlib.Path(folder) / "chart.tar"
    git("archive", "--output", archive, f"{last}~1", place)
    shutil.unpack_archive(archive, folder)
    return pathlib.Path(folder) / place


def upgrade(_):
    """A release of the chart before its last change, upgraded with its values, equals a new one with the same values."""
    helm = lambda *words: run(tool("helm"), *words, "--namespace", NAMESPACE)
    with tempfile.TemporaryDirectory() as folder, Cluster() as api:
        before = previous_chart(folder)
        files = [None, *sorted(before.glob("ci/*-values.yaml"))]
        for file in files:
            options = [*with_values(file), "--set", "config.log.level=debug"]
            helm("install", "rankgauge", before, *options)
            helm("upgrade", "rankgauge", CHART, "--reset-then-reuse-values")
            upgraded = comparable(helm("get", "manifest", "rankgauge"))
            helm("uninstall", "rankgauge")
            require(api.objects() == [], f"{file}: the upgrade leaves {api.objects()}")
            helm("install", "rankgauge", CHART, *options)
            fresh = comparable(helm("get", "manifest", "rankgauge"))
            notes = helm("get", "notes", "rankgauge")
            helm("uninstall", "rankgauge")
            require("level: debug" in json.dumps(fresh["ConfigMap rankgauge-config"]).replace('"', ""), "the value of the release")
            require(upgraded == fresh, f"{file}: {[name for name in upgraded | fresh if upgraded.get(name) != fresh.get(name)]} differ after the upgrade")
            require("curl" not in notes and ("rankgauge ctl status" in notes or "sidecar" in notes), notes)
        print(f"  {len(files)} releases upgraded")


def cluster(_):
    """Install, test, upgrade, roll back and remove, with helm and with kubectl; nothing is left."""
    with Cluster() as api:
        require(api.objects() == [], f"the namespace is not empty: {api.objects()}")
        refused = run("kubectl", "apply", "--validate=strict", "-f", "-", stdin=render(CHART).replace("enableServiceLinks", "enableServiceLink"), fails=True)
        require("unknown field" in refused, refused)
        run("kubectl", "delete", "--ignore-not-found", "-f", "-", stdin=render(CHART))
        privileged = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "privileged"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        refused = run("kubectl", "create", "-f", "-", stdin=json.dumps(privileged), fails=True)
        require("restricted" in refused, refused)

        pods = 0
        for name, text in everything():
            try:
                apply_strictly(text)
                pods += admitted(text)
            except Failed as failed:
                raise Failed(f"{name}: {failed}") from None
        print(f"  {pods} pods admitted under restricted")

        for file in values_files():
            helm = lambda *words: run(tool("helm"), *words, "--namespace", NAMESPACE)
            began = time.monotonic()
            helm("install", "rankgauge", CHART, *with_values(file))
            if not file:
                print(f"  helm install: {time.monotonic() - began:.1f} s")
            installed = api.objects()
            helm("upgrade", "rankgauge", CHART, *with_values(file), "--set", "image.tag=0.1.1,config.log.level=debug")
            changed = json.loads(run("kubectl", "get", "configmap", "rankgauge-config", "-o", "json"))
            require("level: debug" in changed["data"]["rankgauge.yaml"], str(changed))
            helm("rollback", "rankgauge", "1")
            require(len(installed) > 1, f"{file} installs nothing")
            helm("uninstall", "rankgauge", "--wait=false")
            require(api.objects() == [], f"{file}: helm leaves {api.objects()}")
        # A StatefulSet becomes a Deployment, and the other way round.
        helm("install", "rankgauge", CHART)
        helm("upgrade", "rankgauge", CHART, "--values", CHART / "ci/deployment-values.yaml")
        helm("upgrade", "rankgauge", CHART, "--values", CHART / "ci/statefulset-values.yaml")
        helm("uninstall", "rankgauge")
        require(api.objects() == [], f"a changed kind leaves {api.objects()}")

        # A changed Secret restarts the pods with the next release.
        run("kubectl", "create", "secret", "generic", "rankgauge-web", "--from-literal=web.yaml={}")
        templates = []
        for password in ["a", "a", "b"]:
            run("kubectl", "patch", "secret", "rankgauge-web", "-p", json.dumps({"stringData": {"password": password}}))
            helm("upgrade", "--install", "rankgauge", CHART, "--set", "web.existingSecret=rankgauge-web")
            workload = json.loads(run("kubectl", "get", "statefulset", "rankgauge", "-o", "json"))
            templates.append(workload["spec"]["template"]["metadata"]["annotations"]["checksum/rankgauge-secrets"])
        require(templates[0] == templates[1] != templates[2], str(templates))
        helm("uninstall", "rankgauge")
        run("kubectl", "delete", "secret", "rankgauge-web")

        with Broker() as broker:
            broker.create_topics()
            brokers = f"config.kafka.brokers=127.0.0.1:{broker.local}"
            helm("install", "rankgauge", CHART, "--values", OVERLAY_VALUES, "--set", brokers)
            helm_test("rankgauge", succeeds=True)
            refused = run(tool("helm"), "upgrade", "rankgauge", CHART, "--set", "config.kafka.brokrs=wrong", "--namespace", NAMESPACE, fails=True)
            require("brokrs" in refused, refused)
            helm("upgrade", "rankgauge", CHART, "--values", OVERLAY_VALUES, "--set", brokers + ",config.kafka.search_topic=absent")
            helm_test("rankgauge", succeeds=False)
            helm("upgrade", "rankgauge", CHART, "--values", OVERLAY_VALUES, "--set", f"config.kafka.brokers=127.0.0.1:{free_port()}")
            helm_test("rankgauge", succeeds=False)
        helm("uninstall", "rankgauge")
        run("kubectl", "delete", "pod", "rankgauge-test", "--ignore-not-found", "--now")
        require(api.objects() == [], f"helm test leaves {api.objects()}")

        with tempfile.TemporaryDirectory() as folder:
            helm("install", "search", example_chart(folder))
            helm("uninstall", "search")
            require(api.objects() == [], f"the example leaves {api.objects()}")

        for folder in [SIDECAR, STANDALONE / "base", STANDALONE / "overlays/monitoring"]:
            began = time.monotonic()
            run("kubectl", "apply", "--validate=strict", "-k", folder, "--namespace", NAMESPACE)
            print(f"  kubectl apply -k {folder.relative_to(ROOT)}: {time.monotonic() - began:.1f} s")
            require(api.objects() != [], f"{folder} installs nothing")
            # Applied again without a change.
            again = run("kubectl", "apply", "--validate=strict", "-k", folder, "--namespace", NAMESPACE)
            # kubectl replaces the selector of a PodDisruptionBudget, and the claims of a StatefulSet, to which
            # the API server adds a status, and reports both as changes.
            changed = [line for line in again.splitlines() if not line.endswith(" unchanged")]
            require(all(line.startswith(("poddisruptionbudget", "statefulset")) for line in changed), again)
            run("kubectl", "delete", "-k", folder, "--namespace", NAMESPACE)
            require(api.objects() == [], f"{folder} leaves {api.objects()}")


STEPS = [lint, identity, admin, alerts, keys, kustomize, schemas, score, upgrade, cluster]


run_steps(STEPS)
