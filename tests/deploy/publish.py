"""Test of the publication of a release: its dry run, with files of the names that the other jobs upload.

`make publish-test` runs it in a second, and before a release is built; `make release-test` runs the dry run with
the artefacts that it built.
"""

import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from broker import ROOT
from steps import require, run_steps

WORKFLOW = ROOT / ".github/workflows/release.yml"
# Files of target/release-artifacts on one architecture, as deploy/release/release.sh writes them.
NAMES = ["rankgauge", "rankgauge_{version}_{deb}.deb", "rankgauge-{version}-1.{rpm}.rpm", "rankgauge-{version}-linux-{deb}.tar.gz",
         "rankgauge.profdata", "rankgauge-{version}.tgz", "rankgauge-{version}.cdx.json", "rankgauge-image.tar", "rankgauge-core-{version}.crate"]
# Files without a checksum.
OTHERS = ["SHA256SUMS", "rankgauge-image.digest"]
ARCHITECTURES = {"X64": ("amd64", "x86_64"), "ARM64": ("arm64", "aarch64")}
WHEEL = "rankgauge-{version}-cp310-abi3-manylinux2014_{rpm}.manylinux_2_17_{rpm}.whl"


class Release:
    """Copy of the scripts and of a changelog with a date, and a folder for artefacts."""

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="rankgauge-publish-"))
        self.artefacts = self.root / "artefacts"
        self.artefacts.mkdir()
        shutil.copytree(ROOT / "deploy/release", self.root / "deploy/release")
        shutil.copy(ROOT / "Cargo.toml", self.root)
        self.version = re.search(r'^version = "(.*)"', (self.root / "Cargo.toml").read_text(), re.MULTILINE)[1]
        (self.root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {self.version} (2027-01-31)\n\n- new\n")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def publish(self):
        """Dry run: its exit status, output and errors."""
        return subprocess.run([self.root / "deploy/release/publish.sh", "artefacts"], capture_output=True, text=True, check=False,
                              env={**os.environ, "DRY_RUN": "1"})

    def published(self):
        """Names of the files of the release."""
        done = self.publish()
        require(done.returncode == 0, f"publish.sh: {done.stdout}{done.stderr}")
        self.commands = done.stdout.splitlines()
        return sorted(file.name for file in (self.root / "target/publish").iterdir())

    def put(self, job, files):
        folder = self.artefacts / job
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content)


def uploaded(names, job):
    """Files that the workflow uploads, of those in the folder."""
    path = re.search(rf"name: {job}-.*\n\s+path: (\S+)", WORKFLOW.read_text())[1]
    return [name for name in names if fnmatch.fnmatch(name, path.rsplit("/", 1)[1] or "*")]


def fill(release):
    """The artefacts of both architectures, as the jobs before upload them."""
    for runner, (deb, rpm) in ARCHITECTURES.items():
        names = [name.format(version=release.version, deb=deb, rpm=rpm) for name in NAMES]
        files = {name: f"{name} of {runner}\n" for name in names}
        files["rankgauge-image.digest"] = "sha256:0\n"
        files["SHA256SUMS"] = "".join(f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(names))
        release.put(f"artefacts-{runner}", {name: files[name] for name in uploaded([*names, *OTHERS], "artefacts")})
        wheel = WHEEL.format(version=release.version, rpm=rpm)
        release.put(f"wheels-Linux-{runner}", {name: f"{name}\n" for name in uploaded([wheel], "wheels")})


def complete(_):
    """Both architectures are published, with one list of checksums."""
    with Release() as release:
        fill(release)
        version = release.version
        found = release.published()
        expected = [f"rankgauge-{version}.tgz", "SHA256SUMS"]
        for deb, rpm in ARCHITECTURES.values():
            expected += [f"rankgauge_{version}_{deb}.deb", f"rankgauge-{version}-1.{rpm}.rpm", f"rankgauge-{version}-linux-{deb}.tar.gz",
                         f"rankgauge-{version}-{deb}.cdx.json", f"rankgauge-{version}-{deb}.profdata", WHEEL.format(version=version, rpm=rpm)]
        require(found == sorted(expected), f"published {found}")
        sums = (release.root / "target/publish/SHA256SUMS").read_text()
        require(sorted(line.split("  ")[1] for line in sums.splitlines()) == sorted(set(found) - {"SHA256SUMS"}), sums)
        for command, count in [("buildah manifest add", 2), ("buildah manifest push", 1), ("cosign sign", 2), ("helm push", 1), ("gh release create", 1)]:
            require(sum(line.startswith(command) for line in release.commands) == count, f"{count} of {command}: {release.commands}")


def incomplete(_):
    """Nothing is published if a file is missing or changed."""
    for name, expected in [("SHA256SUMS", "SHA256SUMS"), ("rankgauge", "rankgauge"), ("rankgauge-{version}.tgz", ".tgz")]:
        for change in [pathlib.Path.unlink, lambda file: file.write_text("changed\n")]:
            with Release() as release:
                fill(release)
                change(release.artefacts / "artefacts-ARM64" / name.format(version=release.version))
                done = release.publish()
                require(done.returncode != 0 and expected in done.stdout + done.stderr, f"{name}: {done}")
                require("gh release" not in done.stdout, done.stdout)
    with Release() as release:
        fill(release)
        shutil.rmtree(release.artefacts / "artefacts-ARM64")
        done = release.publish()
        require(done.returncode != 0 and "ARM64" in done.stderr, done)


if __name__ == "__main__":
    run_steps([complete, incomplete])
