"""A standalone cluster of Spark, a worker with two executors, runs the job of the documentation."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from every_engine import JAVA, looked_in_first, spark
from needs import need

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "howto" / "frames.md").read_text(encoding="utf-8")
# Seconds that a Java machine may take to start where others share the processor.
PATIENCE = 240
N_FILES, N_ROWS = 4, 20_000
RNG = np.random.default_rng(3)
P = RNG.random(N_FILES * N_ROWS)
Y = (RNG.random(P.size) < P**1.3).astype(np.int8)


def fence(kind: str, start: str) -> str:
    """The text of the guide's fence that holds these words."""
    found = [text for text in re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.S) if start in text]
    assert len(found) == 1
    return found[0]


def environment() -> dict[str, str]:
    """Spark as pip installed it. There is no Python for executors, which need none."""
    home = str(Path(need("pyspark").__file__).parent)
    own = {"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": "/there/is/none"}
    # Seven Java machines start, of which most live for seconds.
    own |= dict.fromkeys(("SPARK_DAEMON_JAVA_OPTS", "SPARK_LAUNCHER_OPTS"), " ".join(JAVA))
    own |= {"SPARK_DAEMON_CLASSPATH": looked_in_first()}
    return os.environ | own | {"PYTHONPATH": str(Path(cal.__file__).parents[1])}


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Spark's own, ended with all that it has started, whatever happens."""
    command = [environment()["SPARK_HOME"] + "/bin/spark-class", *arguments]
    process = subprocess.Popen(
        command,
        env=environment(),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a group of processes, whose number is the id of this one
    )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
        process.stdout.close()


def said(process: subprocess.Popen[str], pattern: str) -> str:
    """What a process says that matches a pattern, waited for."""
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(pattern, line):
                return found.group(0)
    finally:
        alarm.cancel()
    pytest.fail(f"no {pattern} in:\n{''.join(lines)}")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with a worker, whose two executors have a core each."""
    deploy = "org.apache.spark.deploy"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    with running(folder, f"{deploy}.master.Master", *here, "--port", "0") as master:
        address = said(master, r"spark://127\.0\.0\.1:\d+")
        size = ("--cores", "2", "--memory", "2g", "--work-dir", str(folder / "work"))
        with running(folder, f"{deploy}.worker.Worker", *here, *size, address) as worker:
            said(worker, "Successfully registered with master")
            yield address


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> tuple[dict, list[dict]]:
    """The result of the documented job, submitted as documented, and its log of events."""
    spark()  # skips, or fails, where Spark does not run
    pyarrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "rows").mkdir()
    (folder / "events").mkdir()
    for k in range(N_FILES):
        part = slice(k * N_ROWS, (k + 1) * N_ROWS)
        table = pyarrow.table({"label": Y[part], "p": P[part]})
        parquet.write_table(table, folder / "rows" / f"{k}.parquet")
    (folder / "calibration_job.py").write_text(fence("python", "SparkSession"), encoding="utf-8")
    command = shlex.split(fence("text", "spark-submit").replace("\\\n", " "))
    command[0] = environment()["SPARK_HOME"] + "/bin/spark-submit"
    command[command.index("4g")] = "512m"
    command[command.index("s3a://lake/predictions/")] = "rows"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(JAVA),
        "spark.driver.extraClassPath": looked_in_first(),
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": " ".join(JAVA),
        "spark.executor.extraClassPath": looked_in_first(),
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    command[1:1] = [x for name, value in settings.items() for x in ("--conf", f"{name}={value}")]
    with cluster(folder) as address:
        command[command.index("spark://HOST:7077")] = address
        done = subprocess.run(
            command,
            env=environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Evaluation of 80,000 rows" in done.stdout
    (log,) = (folder / "events").iterdir()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    result = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    return result, events


def of_kind(events: list[dict], name: str) -> list[dict]:
    """The events of one kind."""
    return [event for event in events if event["Event"].endswith(name)]


def test_the_documented_script_is_short():
    assert len(fence("python", "SparkSession").splitlines()) <= 20


def test_a_cluster_gives_the_numbers_of_arrays(job):
    result, _ = job
    expected = cal.evaluate(Y, P)
    values = {row["name"]: row["value"] for row in result["measures"]}
    assert len(values) > 12
    for name, value in values.items():
        assert value == pytest.approx(expected[name], rel=1e-10, abs=1e-14), name


def test_a_pass_is_one_job_of_two_stages(job):
    """Beside one that reads the schema of the files, which reads no rows."""
    _, events = job
    jobs = [event["Stage IDs"] for event in of_kind(events, "SparkListenerJobStart")]
    assert [len(stages) for stages in jobs] == [1, 2, 2]
    tasks = of_kind(events, "SparkListenerTaskEnd")
    read = {stage: 0 for stages in jobs for stage in stages}
    for task in tasks:
        read[task["Stage ID"]] += task["Task Metrics"]["Input Metrics"]["Records Read"]
    assert [read[stage] for stages in jobs for stage in stages] == [0, P.size, 0, P.size, 0]
    of_rows = {task["Task Info"]["Executor ID"] for task in tasks if task["Stage ID"] == jobs[1][0]}
    assert len(of_rows) == 2


def test_nothing_but_sums_is_shuffled_and_nothing_broadcast(job):
    _, events = job
    plans = [
        event["physicalPlanDescription"]
        for event in of_kind(events, "SparkListenerSQLExecutionStart")
    ]
    assert len(plans) == 2
    for plan in plans:
        tree = plan.split("\n\n")[0]
        assert re.findall(r"HashAggregate|Exchange|Scan parquet|Project", tree)[:3] == [
            "HashAggregate",
            "Exchange",
            "HashAggregate",
        ]
        assert "Broadcast" not in plan and "Python" not in plan and tree.count("Exchange") == 1
        assert re.search(r"hashpartitioning\(key#\d+L?, 8\)", plan)
        read = re.search(r"ReadSchema: struct<(.*?)>", plan)
        assert read is not None and set(read[1].split(",")) == {"p:double", "label:tinyint"}
    first, second = (
        sum(
            task["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            for task in of_kind(events, "SparkListenerTaskEnd")
            if task["Stage ID"] == stages[0]
        )
        for stages in [e["Stage IDs"] for e in of_kind(events, "SparkListenerJobStart")][1:]
    )
    assert first < 8e6 and second < 1e5
