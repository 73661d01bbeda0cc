"""Test of the image under runc: read-only, without capabilities, as user 65532, against a real Kafka.

`make image-test` runs it. The broker is reached by a host name that only /etc/hosts of the container has,
without and with TLS. With TLS the image's file of public certificate authorities is used: the test adds
the authority of the broker to it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

import metrics
from broker import HOST, TARGET, Broker, free_port

ARTIFACTS = TARGET / "release-artifacts"
ARCHIVE = ARTIFACTS / "rankgauge-image.tar"
MAX_BYTES = 25_000_000
SEARCHES = 2000


def unpack(folder):
    """Root file system and configuration of the image."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder / "image", filter="data")
    blob = lambda digest: folder / "image/blobs" / digest.replace(":", "/")
    read = lambda digest: json.loads(blob(digest).read_text())
    index = json.loads((folder / "image/index.json").read_text())
    manifest = read(index["manifests"][0]["digest"])
    size = sum(layer["size"] for layer in manifest["layers"])
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer["digest"])) as archive:
            archive.extractall(folder / "root", filter="tar")
    return read(manifest["config"]["digest"])["config"], size


def bundle(folder, root, arguments, binds):
    """Bundle of runc: everything read-only, no capability, no new privileges, 512 MiB."""
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=64k"]},
    ]
    for inside, outside in binds.items():
        writable = inside == "/var/lib/rankgauge"
        mounts.append({"destination": inside, "type": "bind", "source": str(outside), "options": ["rbind", "rw" if writable else "ro"]})
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False, "user": {"uid": 65532, "gid": 65532}, "args": arguments, "env": [], "cwd": "/",
            "capabilities": {}, "noNewPrivileges": True,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": "rankgauge",
        "mounts": mounts,
        # The network of the host: the broker listens on its loopback.
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]},
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def run_against(broker, name, folder, root, image, properties, gold):
    port = free_port()
    tls = bool(properties)
    settings = {
        "kafka": {"brokers": f"{HOST}:{broker.tls if tls else broker.plain}", "group_id": name, "start": "earliest", "properties": properties},
        "gold": {"paths": ["/etc/rankgauge/gold.json"]},
        "checkpoint": {"folder": "/var/lib/rankgauge"},
        "metrics": {"listen": f"127.0.0.1:{port}"},
        "admin": {"listen": "none"},
    }
    place = folder / name
    place.mkdir()
    files = {"hosts": f"127.0.0.1 localhost {HOST}\n", "rankgauge.yaml": json.dumps(settings)}
    authorities = (root / "etc/ssl/certs/ca-certificates.crt").read_text()
    files["authorities"] = authorities + broker.authority.read_text()
    for file, content in files.items():
        (place / file).write_text(content)
    state = place / "state"
    state.mkdir()
    os.chown(state, 65532, 65532)
    (root / "etc/hosts").touch()
    (root / "etc/rankgauge").mkdir(exist_ok=True)
    for file in ("rankgauge.yaml", "gold.json"):
        (root / "etc/rankgauge" / file).touch()
    (root / "var/lib/rankgauge").mkdir(parents=True, exist_ok=True)
    for mount in ("proc", "dev"):
        (root / mount).mkdir(exist_ok=True)
    binds = {"/etc/hosts": place / "hosts", "/etc/rankgauge/rankgauge.yaml": place / "rankgauge.yaml",
             "/etc/rankgauge/gold.json": gold, "/var/lib/rankgauge": state}
    if tls:
        binds["/etc/ssl/certs/ca-certificates.crt"] = place / "authorities"
    arguments = [*image["Entrypoint"], *image["Cmd"], "--config", "/etc/rankgauge/rankgauge.yaml"]
    parts = bundle(place / "bundle", root, arguments, binds)
    runc = ["runc", "--root", str(folder / "runc")]
    began = time.monotonic()
    with open(place / "log", "w") as log:
        process = subprocess.Popen([*runc, "run", "--bundle", str(parts), name], stdout=log, stderr=log)
    try:
        while (found := metrics.searches(port)) != SEARCHES:
            if process.poll() is not None or time.monotonic() - began > 60:
                sys.exit(f"FAILED: {name}: {found} searches of {SEARCHES}; log:\n{(place / 'log').read_text()[-3000:]}")
            time.sleep(0.1)
        read = time.monotonic() - began
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            assert answer.status == 200
        stopping = time.monotonic()
        subprocess.run([*runc, "kill", name, "TERM"], check=True)
        code = process.wait(30)
        stopped = time.monotonic() - stopping
    finally:
        if process.poll() is None:
            subprocess.run([*runc, "kill", name, "KILL"], check=False)
            process.wait(30)
    log = (place / "log").read_text()
    assert code == 0, f"exit status {code}:\n{log}"
    assert stopped < 10, f"stopped after {stopped:.1f} s"
    assert any(state.iterdir()), "no checkpoint was written"
    print(f"ok: {name}: {SEARCHES} searches counted {read:.1f} s after the start; SIGTERM to end {stopped:.1f} s")


def main():
    with tempfile.TemporaryDirectory(prefix="rankgauge-image-") as folder, Broker() as broker:
        folder = pathlib.Path(folder)
        image, size = unpack(folder)
        root = folder / "root"
        assert image["User"] == "65532:65532", image
        assert image["Entrypoint"] == ["/usr/local/bin/rankgauge"] and image["Cmd"] == ["run"], image
        for label in ("source", "version", "revision", "licenses", "created", "title"):
            assert image["Labels"][f"org.opencontainers.image.{label}"], label
        files = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())
        assert files == ["LICENSE", "etc/nsswitch.conf", "etc/ssl/certs/ca-certificates.crt", "usr/local/bin/rankgauge"], files
        unpacked = sum((root / file).stat().st_size for file in files)
        assert unpacked < MAX_BYTES, f"{unpacked} bytes"
        print(f"ok: {unpacked / 1e6:.1f} MB unpacked, {size / 1e6:.1f} MB of layers, {len(files)} files")
        gold = folder / "gold.json"
        broker.produce(root / "usr/local/bin/rankgauge", SEARCHES, gold)
        gold.chmod(0o644)
        run_against(broker, "by-host-name", folder, root, image, {}, gold)
        run_against(broker, "over-tls", folder, root, image, {"security.protocol": "SSL"}, gold)


main()
