"""A Kubernetes API server for the tests of the deployment: etcd and kube-apiserver on loopback."""

import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.request

import yaml

from broker import ROOT, TARGET, free_port
from steps import Failed, run

TOOLS = TARGET / "deploy"
# Namespace that enforces the Pod Security standard `restricted`.
NAMESPACE = "search"


def tool(name):
    return TOOLS / "bin" / name


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


# Files with definitions in Go modules.
CRDS = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": [
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ],
    "github.com/kedacore/keda/v2@v2.16.1": [
        "config/crd/bases/keda.sh_scaledobjects.yaml",
        "config/crd/bases/keda.sh_triggerauthentications.yaml",
    ],
    "github.com/grafana/grafana-operator/v5@v5.18.0": ["config/crd/bases/grafana.integreatly.org_grafanadashboards.yaml"],
    "github.com/fluxcd/flagger@v1.36.1": ["artifacts/flagger/crd.yaml"],
    "github.com/argoproj/argo-rollouts@v1.8.3": [
        "manifests/crds/analysis-template-crd.yaml",
        "manifests/crds/rollout-crd.yaml",
    ],
}
# Classes of Strimzi from which its generator writes the definitions.
STRIMZI = {"topic": "io.strimzi.api.kafka.model.topic.KafkaTopic", "user": "io.strimzi.api.kafka.model.user.KafkaUser"}
# Identifies the definitions of `custom_resources`.
DEFINITIONS = json.dumps([CRDS, STRIMZI, (ROOT / "tests/strimzi/pom.xml").read_text()])


def strimzi_resources():
    """CustomResourceDefinitions of Strimzi, version v1, which Strimzi 0.49 and later serves."""
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{folder}/{name}.yaml": of for name, of in STRIMZI.items()}
        version = ["--target-kube", "1.27+", "--crd-api-version", "v1", "--api-versions", "v1",
                   "--describe-api-versions", "v1", "--storage-version", "v1"]
        run("java", "-cp", f"{TARGET}/strimzi/libs/*", "io.strimzi.crdgenerator.CrdGenerator", "--yaml", *version,
            *(f"{of}={file}" for file, of in files.items()))
        return [definition for file in files for definition in documents(pathlib.Path(file).read_text())]


def custom_resources():
    """CustomResourceDefinitions of the operators, from their Go modules and jars."""
    found = []
    for module, files in CRDS.items():
        where = json.loads(run("go", "mod", "download", "-json", module, cwd="/"))["Dir"]
        for file in files:
            found += documents((pathlib.Path(where) / file).read_text())
    return found + strimzi_resources()


class Cluster:
    """etcd and kube-apiserver on loopback, in a temporary folder."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankgauge-cluster-"))
        self.processes = []
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder)

    def spawn(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "w")
        self.processes.append(subprocess.Popen([tool(name), *arguments], stdout=log, stderr=log))

    def start(self):
        client, peer, secure = free_port(), free_port(), free_port()
        self.spawn("etcd", f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync",
                   f"--listen-client-urls=http://127.0.0.1:{client}", f"--advertise-client-urls=http://127.0.0.1:{client}",
                   f"--listen-peer-urls=http://127.0.0.1:{peer}")
        key = self.folder / "accounts.key"
        run("openssl", "genrsa", "-out", key, "2048")
        (self.folder / "tokens").write_text("admin,admin,admin,system:masters\n")
        self.spawn("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", f"--cert-dir={self.folder}/certificates",
                   f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                   "--service-account-issuer=https://kubernetes.default.svc", f"--token-auth-file={self.folder}/tokens",
                   "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
                   "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={secure}")
        certificate = self.folder / "certificates/apiserver.crt"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{secure}", "certificate-authority": str(certificate)}}],
            "users": [{"name": "admin", "user": {"token": "admin"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin", "namespace": NAMESPACE}}],
        }
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))
        os.environ["KUBECONFIG"] = str(self.folder / "kubeconfig")
        began = time.monotonic()
        while not self.is_ready(secure, certificate):
            ended = [process.args[0] for process in self.processes if process.poll() is not None]
            if ended or time.monotonic() - began > 120:
                log = (self.folder / "kube-apiserver.log").read_text()[-3000:]
                raise Failed(f"the cluster does not start ({ended}):\n{log}")
            time.sleep(0.2)
        print(f"  ready after {time.monotonic() - began:.1f} s")
        run("kubectl", "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(custom_resources()))
        run("kubectl", "wait", "--for=condition=Established", "--all", "crd", "--timeout=60s")
        level = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
        run("kubectl", "apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": level}}))

    @staticmethod
    def is_ready(port, certificate):
        try:
            context = ssl.create_default_context(cafile=certificate)
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/readyz", context=context, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    @staticmethod
    def objects():
        """Every object of the namespace, except those that the API server makes."""
        kinds = run("kubectl", "api-resources", "--namespaced", "--verbs=list", "--output=name").split()
        # An event reports what happened; it is not part of an installation.
        kinds = [kind for kind in kinds if not kind.startswith("events")]
        names = run("kubectl", "get", ",".join(kinds), "--namespace", NAMESPACE, "--output=name", "--ignore-not-found").split()
        return sorted(name for name in names if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default"))
