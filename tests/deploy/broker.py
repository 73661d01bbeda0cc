"""A Kafka for the tests of the image, of the packages and of the first run: plain text and TLS, on loopback."""

import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Name of the broker in its certificate and in /etc/hosts of the containers.
HOST = "kafka.test"
TOPICS = ["search.log", "search.feedback"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Broker:
    """A Kafka broker in a temporary folder. `authority` is the file of its certificate authority."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rankgauge-broker-"))
        self.plain, self.tls, controller = free_port(), free_port(), free_port()
        # The listeners advertise a name that only /etc/hosts of a container resolves, except LOCAL.
        self.local = free_port()
        self.certificates()
        properties = {
            "node.id": 1, "process.roles": "broker,controller",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER", "inter.broker.listener.name": "LOCAL",
            "listeners": f"LOCAL://127.0.0.1:{self.local},PLAIN://127.0.0.1:{self.plain},TLS://127.0.0.1:{self.tls},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"LOCAL://127.0.0.1:{self.local},PLAIN://{HOST}:{self.plain},TLS://{HOST}:{self.tls}",
            "listener.security.protocol.map": "LOCAL:PLAINTEXT,PLAIN:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM", "ssl.keystore.location": self.folder / "broker.pem",
            "log.dirs": self.folder / "data", "num.partitions": 2, "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1, "group.initial.rebalance.delay.ms": 0,
        }
        file = self.folder / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        java = ["java", "-Xmx512m", f"-Dlog4j2.configurationFile={ROOT}/tests/kafka/log4j2.properties", "-cp", f"{TARGET}/kafka/libs/*"]
        subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", file], check=True, capture_output=True)
        with open(self.folder / "kafka.log", "w") as log:
            self.process = subprocess.Popen([*java, "kafka.Kafka", file], stdout=log, stderr=log)
        began = time.monotonic()
        while not self.accepts():
            if self.process.poll() is not None or time.monotonic() - began > 60:
                raise SystemExit(f"Kafka does not start:\n{(self.folder / 'kafka.log').read_text()[-3000:]}")
            time.sleep(0.2)
        return self

    def accepts(self):
        try:
            socket.create_connection(("127.0.0.1", self.local), 1).close()
            return True
        except OSError:
            return False

    def create_topics(self, names=TOPICS):
        """Sends a CreateTopics request, version 2: the jars of the tests contain no tool for it."""
        text = lambda value: struct.pack(">h", len(value)) + value.encode()
        topics = b"".join(text(topic) + struct.pack(">ihii", 2, 1, 0, 0) for topic in names)
        request = struct.pack(">hhi", 19, 2, 1) + text("tests") + struct.pack(">i", len(names)) + topics + struct.pack(">i?", 10_000, False)
        with socket.create_connection(("127.0.0.1", self.local), 30) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            (size,) = struct.unpack(">i", connection.recv(4))
            answer = b""
            while len(answer) < size:
                answer += connection.recv(size - len(answer))
        for topic in names:
            after = answer.index(topic.encode()) + len(topic)
            (error,) = struct.unpack_from(">h", answer, after)
            if error:
                raise SystemExit(f"FAILED: topic {topic}: Kafka's error {error}")

    def certificates(self):
        folder = self.folder
        self.authority = folder / "authority.crt"
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority of the test",
                "-keyout", folder / "authority.key", "-out", self.authority)
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={HOST}", "-keyout", folder / "broker.key", "-out", folder / "broker.csr")
        (folder / "names").write_text(f"subjectAltName=DNS:{HOST}\n")
        openssl("x509", "-req", "-in", folder / "broker.csr", "-CA", self.authority, "-CAkey", folder / "authority.key", "-CAcreateserial",
                "-days", "2", "-extfile", folder / "names", "-out", folder / "broker.crt")
        parts = ["broker.key", "broker.crt", "authority.crt"]
        (folder / "broker.pem").write_text("".join((folder / part).read_text() for part in parts))

    def produce(self, binary, searches, gold):
        """Creates the topics and writes traffic."""
        self.create_topics()
        command = [binary, "produce", "--searches", str(searches), "--gold", gold, "--set", f"kafka.brokers=127.0.0.1:{self.local}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"FAILED: rankgauge produce: {done.stdout}{done.stderr}")

    def write(self, topic, lines):
        """Writes records, each a line with its key, a tab and its value."""
        command = ["kcat", "-P", "-q", "-b", f"127.0.0.1:{self.local}", "-t", topic, "-K", "\t"]
        done = subprocess.run(command, input="".join(lines), check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"FAILED: kcat: {done.stdout}{done.stderr}")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder)
