"""A minimal Debian for tests: the base system, which debootstrap makes once in target/debian, and copies of it.

The commands of a copy run in a mount namespace of their own, in which its mounts are. Nothing has to be
unmounted, and no deletion reaches through a mount.
"""

import os
import pathlib
import re
import shutil
import subprocess

from broker import TARGET
from steps import require, run

BASE = TARGET / "debian"
# Suite on a machine that is no Debian.
SUITE = "bookworm"
# Mounts, then the command in a folder of the copy. Arguments: root, folder, number of mounts, the pairs of
# what is mounted and where, the command.
ENTER = """
set -e
root=$1 folder=$2 mounts=$3
shift 3
mount -t proc proc "$root/proc"
while [ "$mounts" -gt 0 ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
    mounts=$((mounts - 1))
done
exec chroot "$root" env --chdir "$folder" "$@"
"""


def suite():
    """Suite of this machine, if it is a Debian."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', pathlib.Path("/etc/os-release").read_text(), re.MULTILINE))
    return release.get("VERSION_CODENAME", SUITE) if release["ID"] == "debian" else SUITE


def base():
    """Root of the base system."""
    marker = BASE / "complete"
    if not marker.exists():
        shutil.rmtree(BASE, ignore_errors=True)
        run("debootstrap", "--variant=minbase", suite(), BASE, os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian"))
        marker.touch()
    return BASE


class Debian:
    """Copy of the base system, with the network of this machine. `binds` are folders of this machine and where
    they are in the copy; `hosts` are further names of the loopback."""

    def __init__(self, name, binds=None, hosts=(), variables=None):
        self.root = TARGET / "first-run" / name
        self.binds = binds or {}
        self.hosts = hosts
        self.variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                          "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **(variables or {})}
        self.processes = []

    def __enter__(self):
        self.remove()
        self.root.parent.mkdir(exist_ok=True)
        run("cp", "-a", base(), self.root)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        (self.root / "etc/hosts").write_text(" ".join(["127.0.0.1 localhost", *self.hosts]) + "\n")
        run(*self.words("/", "apt-get", "update", "--quiet"))
        return self

    def words(self, folder, *command):
        binds = [str(word) for pair in self.binds.items() for word in pair]
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", str(self.root), folder, str(len(self.binds)),
                *binds, "--ignore-environment", *variables, *map(str, command)]

    def run(self, *command, folder="/root", status=0, **options):
        """Runs a command, and returns its output. It has to end with `status`."""
        done = subprocess.run(self.words(folder, *command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, **options)
        require(done.returncode == status, f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def start(self, *command, folder="/root"):
        """Starts a command, which ends with the copy. Its output is in the file `log` of the process."""
        log = self.root / f"tmp/{len(self.processes)}.log"
        with open(log, "w") as output:
            process = subprocess.Popen(self.words(folder, *command), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        process.log = log
        self.processes.append(process)
        return process

    def put(self, file, folder="/root"):
        """Copies a file into a folder of the copy, and returns its name."""
        file = pathlib.Path(file)
        shutil.copy(file, self.root / folder.lstrip("/"))
        return file.name

    def remove(self):
        mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        require(not [mount for mount in mounts if mount.startswith(f"{self.root}/")], f"{self.root} has mounts")
        shutil.rmtree(self.root, ignore_errors=True)

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.remove()
