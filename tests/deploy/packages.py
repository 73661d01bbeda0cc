"""Test of the packages: the deb is installed, started, upgraded and purged in a Debian of its own.

`make release-test` runs it. The Debian is a chroot that debootstrap makes once in target/debian. systemd does
not run in it: the command of the unit is run as its user would run it, against a real Kafka. The unit itself is
checked by systemd-analyze, and the rpm by rpm, in a database of its own.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import debian
import metrics
import publish
from broker import HOST, ROOT, TARGET, Broker, free_port

ARTIFACTS = TARGET / "release-artifacts"
UNIT = ROOT / "deploy/systemd/rankgauge.service"
# Exposure by `systemd-analyze security`: 10 is unprotected. 2.0 and less is "OK".
MAX_EXPOSURE = 1.5
SEARCHES = 1000


def run(*command, fails=False, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if (done.returncode != 0) != fails:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def unit():
    # The paths of the unit are those of the package.
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        run("dpkg-deb", "--extract", package(), root)
        text = UNIT.read_text().replace("/usr/bin/rankgauge", f"{root}/usr/bin/rankgauge")
        (root / "rankgauge.service").write_text(text)
        run("systemd-analyze", "verify", "--man=no", root / "rankgauge.service")
        assert (root / "usr/lib/systemd/system/rankgauge.service").read_text() == UNIT.read_text()
        broken = root / "broken.service"
        broken.write_text(text.replace("Type=exec", "Type=exek"))
        problem = run("systemd-analyze", "verify", "--man=no", broken, fails=False)
        assert "exek" in problem, "systemd-analyze finds no mistake"
    report = run("systemd-analyze", "security", "--offline=true", UNIT)
    exposure = float(re.search(r"exposure level for rankgauge.service: ([0-9.]+)", report)[1])
    assert exposure <= MAX_EXPOSURE, report
    print(f"ok: the unit is valid; exposure {exposure} of 10")


def package():
    (found,) = ARTIFACTS.glob("rankgauge_*.deb")
    return found


def dpkg(root, *arguments, **options):
    return run("chroot", root, "dpkg", *arguments, **options)


def start(root, name):
    """Runs the command of the unit in the chroot, until it has counted everything."""
    port = free_port()
    command = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)[1].split()
    arguments = ["--set", f"metrics.listen=127.0.0.1:{port}", "--set", "admin.listen=none", "--set", f"kafka.group_id={name}", "--set", "kafka.start=earliest"]
    chroot = ["chroot", "--userspec=65532:65532", str(root)]
    check = re.search(r"^ExecStartPre=(.*)$", UNIT.read_text(), re.MULTILINE)[1].split()
    run(*chroot, *check)
    process = subprocess.Popen([*chroot, *command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    began = time.monotonic()
    while (found := metrics.searches(port)) != SEARCHES:
        if process.poll() is not None or time.monotonic() - began > 60:
            process.kill()
            sys.exit(f"FAILED: {found} searches of {SEARCHES}:\n{process.stdout.read()[-3000:]}")
        time.sleep(0.1)
    process.terminate()
    process.wait(30)
    assert process.returncode == 0, process.stdout.read()
    return time.monotonic() - began


def newer(folder):
    """The same package with a later version."""
    tree = folder / "newer"
    run("dpkg-deb", "--raw-extract", package(), tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 99.0.0", control.read_text(), flags=re.MULTILINE))
    run("dpkg-deb", "--root-owner-group", "--build", tree, folder / "newer.deb")
    return folder / "newer.deb"


def deb(broker, folder):
    root = debian.base()
    before = sorted(run("chroot", root, "find", "/etc", "/usr", "/var/lib/dpkg/info", "-xdev", "!", "-path", "*/__pycache__*").splitlines())
    began = time.monotonic()
    shutil.copy(package(), root / "tmp/rankgauge.deb")
    dpkg(root, "--install", "/tmp/rankgauge.deb")
    assert "rankgauge 0." in run("chroot", root, "rankgauge", "--version")
    installed = time.monotonic() - began
    for file in ("usr/share/man/man1/rankgauge-run.1.gz", "usr/share/bash-completion/completions/rankgauge", "usr/lib/systemd/system/rankgauge.service"):
        assert (root / file).is_file(), file
    config = root / "etc/rankgauge/rankgauge.yaml"
    hosts = root / "etc/hosts"
    hosts_before = hosts.read_text() if hosts.exists() else None
    hosts.write_text(f"127.0.0.1 localhost {HOST}\n")
    state = root / "var/lib/rankgauge"
    state.mkdir(exist_ok=True)
    os.chown(state, 65532, 65532)
    config.write_text(config.read_text().replace("localhost:9092", f"{HOST}:{broker.plain}"))
    first = start(root, "deb")
    print(f"ok: the deb is installed after {installed:.1f} s and has counted {SEARCHES} searches {first:.1f} s after its start")

    shutil.copy(newer(folder), root / "tmp/newer.deb")
    dpkg(root, "--install", "--force-confold", "/tmp/newer.deb")
    assert HOST in config.read_text(), "the upgrade replaced the configuration"
    start(root, "deb-upgraded")
    dpkg(root, "--remove", "rankgauge")
    assert config.exists(), "a removal keeps the configuration"
    dpkg(root, "--purge", "rankgauge")
    if hosts_before is None:
        hosts.unlink()
    else:
        hosts.write_text(hosts_before)
    for file in ("rankgauge.deb", "newer.deb"):
        (root / "tmp" / file).unlink()
    after = sorted(run("chroot", root, "find", "/etc", "/usr", "/var/lib/dpkg/info", "-xdev", "!", "-path", "*/__pycache__*").splitlines())
    left = sorted(set(after) ^ set(before) - {"/etc/hosts"})
    assert not left and not state.exists(), f"the purge leaves {left}"
    print("ok: upgraded with its configuration, removed and purged; nothing is left")


def rpm(folder):
    (found,) = ARTIFACTS.glob("*.rpm")
    database = folder / "rpm"
    root = folder / "rpm-root"
    root.mkdir()
    # Scripts need a shell in the root; the files and the database are what is tested.
    command = ["rpm", "--root", root, "--dbpath", database, "--nodeps", "--noscripts"]
    run(*command, "--install", "--ignorearch", "--ignoreos", found)
    assert (root / "usr/bin/rankgauge").is_file() and (root / "usr/lib/systemd/system/rankgauge.service").is_file()
    run(*command, "--verify", "rankgauge")
    run(*command, "--erase", "rankgauge")
    left = [file for file in root.rglob("*") if file.is_file() and "rpm" not in str(file.relative_to(root)).split("/")]
    assert not left, left
    print("ok: the rpm installs, verifies and is removed")


def checksums():
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=ARTIFACTS)
    binary = (ARTIFACTS / "rankgauge").stat().st_size
    # With Parquet and Arrow, 32 MB.
    assert binary < 35_000_000, f"the binary has {binary} bytes"
    print(f"ok: checksums; the binary has {binary / 1e6:.1f} MB")
    for file in ARTIFACTS.glob("*.cdx.json"):
        components = json.loads(file.read_text())["components"]
        # The last one is of the feature `columnar`.
        assert {"rdkafka", "rankgauge-core", "parquet"} <= {each["name"] for each in components}, file
        print(f"ok: SBOM with {len(components)} components")


def main():
    checksums()
    with publish.Release() as release:
        for runner in publish.ARCHITECTURES:
            (release.artefacts / f"artefacts-{runner}").symlink_to(ARTIFACTS)
        print(f"ok: {len(release.published())} files would be published")
    unit()
    with tempfile.TemporaryDirectory(prefix="rankgauge-packages-") as folder, Broker() as broker:
        folder = pathlib.Path(folder)
        broker.produce(ARTIFACTS / "rankgauge", SEARCHES, folder / "gold.json")
        deb(broker, folder)
        rpm(folder)


main()
