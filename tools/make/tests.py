# SPDX-License-Identifier: Apache-2.0
"""The tests that there are, and how one is run.

A test is a script tests/*/*.sh, or a program of tests/unit or tests/jobs. It says in its own head, in comment lines, what is not
as its folder has it:

  lane: computes        the lane that it runs in; behind a comma the seconds that it takes on two idle cores, where these are 5 or more
  soak: WHY             it is not in the gate, and why

A lane runs one test at a time. `computes`: jobs whose workers poll, which need a core at once when they need one. `sleeps`: what
mostly waits. `beside`: what compiles or computes by itself. `alone`: what looks at the whole machine, when all else is over.
"""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

LANES = ("computes", "sleeps", "beside", "alone")
LANE_OF = {"jobs": "computes", "apps": "computes", "fault": "computes", "softroce": "computes", "conform": "computes",
           "launchers": "sleeps", "hosts": "sleeps",
           "unit": "beside", "house": "beside", "models": "beside", "packaging": "beside", "aarch64": "beside", "sanitizers": "beside"}
# A test as a whole has five times the limit that tests/limits.inc gives a command of it.
HANG_S = int(os.environ.get("HANG_S") or 300)
WHOLE_S = 5 * HANG_S
# What a test that lacks a package says. Where make check has installed all of them, that is a failure.
LACKS = re.compile(r"^(skip|SKIP).*(package|not installed|there is no |is missing)", re.M)


@dataclasses.dataclass
class Test:
    name: str      # as apps/hf.sh or unit/rng_test
    command: str
    lane: str
    seconds: int = 0
    soak: str = ""


@dataclasses.dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    late: int = 0          # of those that failed: because a limit for hangs has struck, and for nothing else
    seconds: float = 0
    core_seconds: float = 0
    why: list = dataclasses.field(default_factory=list)
    log: pathlib.Path = None

    def only_late(self):
        return self.failed > 0 and self.failed == self.late


def described(name, command, source):
    folder = name.split("/")[0]
    test = Test(name, command, LANE_OF.get(folder, "computes"))
    for line in source.read_text().splitlines()[:60]:
        said = re.fullmatch(r"(?:#|//) (lane|soak): (.*)", line)
        if not said:
            continue
        if said[1] == "soak":
            test.soak = said[2]
            continue
        lane = re.fullmatch(r"(\w+)(?:, (\d+) s)?", said[2])
        if not lane or lane[1] not in LANES:
            sys.exit(f"{source}: \"lane: {said[2]}\" is not one of {', '.join(LANES)}, with \", N s\" behind it where it takes long")
        test.lane, test.seconds = lane[1], int(lane[2] or 0)
    return test


def all_tests(programs):
    """PROGRAMS are the paths of the programs of tests, as make list-tests prints them."""
    tests = [described(str(p.relative_to("tests")), str(p), p) for p in sorted(pathlib.Path("tests").glob("*/*.sh"))]
    for program in programs:
        stem = pathlib.Path(program).name
        for folder in ("unit", "jobs"):
            source = pathlib.Path("tests", folder, stem + ".cc")
            if source.exists():
                tests.append(described(f"{folder}/{stem}", program, source))
    return tests


def marked(mark):
    """The live processes that have MARK in their environment: what a test has started, wherever it has gone."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                if f"CHECK_MARK={mark}".encode() not in f.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/stat") as f:
                if f.read().rsplit(") ", 1)[1][0] not in "ZX":
                    found.append(int(entry))
        except OSError:
            pass
    return found


def name_of(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()[:80]
    except OSError:
        return "?"


def kill(processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass


def end_all(mark):
    """Asks first, so that a test puts back what it has changed."""
    for process in marked(mark):
        try:
            os.kill(process, signal.SIGTERM)
        except OSError:
            pass
    until = time.monotonic() + 10
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.05)
    kill(marked(mark))


class Running:
    """Tests that run now, so that all can be ended in order."""

    def __init__(self):
        self.lock = threading.RLock()  # a signal may come while its handler's own thread holds it
        self.now = {}       # mark: name
        self.ended = False  # no further one begins, and nothing is said of those that were ended
        self.count = 0

    def begin(self, name):
        with self.lock:
            if self.ended:
                return None
            self.count += 1
            mark = f"{os.getpid()}.{self.count}"
            self.now[mark] = name
            return mark

    def over(self, mark):
        with self.lock:
            self.now.pop(mark, None)

    def close(self):
        """No further test begins. Returns the names of those that run."""
        with self.lock:
            self.ended = True
            return sorted(self.now.values())

    def end(self):
        with self.lock:
            marks = list(self.now)
        for mark in marks:
            end_all(mark)


def run(test, log, running, environment=None, installed=False):
    """Runs one test to its end; None where no further one may begin, or where this one was ended."""
    mark = running.begin(test.name)
    if mark is None:
        return None
    log.parent.mkdir(parents=True, exist_ok=True)
    home = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    os.chmod(home, 0o755)
    env = dict(os.environ, CHECK_MARK=mark, TMPDIR=home, **(environment or {}))
    begin = time.monotonic()
    stopped = threading.Event()

    def stop():
        stopped.set()
        end_all(mark)

    with open(log, "wb") as out:
        process = subprocess.Popen([test.command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                                   start_new_session=True)
        alarm = threading.Timer(WHOLE_S, stop)
        alarm.start()
        _, how, used = os.wait4(process.pid, 0)
        process.returncode = 0
        alarm.cancel()
    status = os.waitstatus_to_exitcode(how)
    result = judged(test, status, log, stopped.is_set(), installed)
    result.seconds, result.core_seconds = time.monotonic() - begin, used.ru_utime + used.ru_stime
    # What it has started ends with it; what is on its way out may take a while on a busy machine.
    until = time.monotonic() + (0 if stopped.is_set() else 60)
    left = marked(mark)
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = marked(mark)
    if left and not stopped.is_set():
        result.failed += 1
        result.why.append("processes were left behind: " + ", ".join(f"{p} ({name_of(p)})" for p in left[:5]))
    kill(left)
    subprocess.run(["rm", "-rf", home], check=False)
    running.over(mark)
    return None if running.ended else result


def judged(test, status, log, stopped, installed):
    said = log.read_text(errors="replace")
    result = Result(log=log)
    if test.command.endswith(".sh"):
        bad, late = re.findall(r"^not ok.*", said, re.M), re.findall(r"^late.*", said, re.M)
        result.passed, result.skipped = len(re.findall(r"^ok", said, re.M)), len(re.findall(r"^skip", said, re.M))
        result.failed, result.late, result.why = len(bad) + len(late), len(late), bad + late
    else:
        result.passed = len(re.findall(r"^\[       OK \] .* \(\d+ ms\)$", said, re.M))
        result.skipped = len(re.findall(r"^\[  SKIPPED \] .* \(\d+ ms\)$", said, re.M))
        # A case is late where one of its jobs was.
        for case in re.split(r"^\[ RUN      \] ", said, flags=re.M)[1:]:
            failed = re.search(r"^\[  FAILED  \] .* \(\d+ ms\)$", case, re.M)
            if failed:
                result.failed += 1
                result.late += re.search(r"^late - ", case, re.M) is not None
                result.why.append(failed[0])
    if stopped:
        result.failed, result.late = result.failed + 1, result.late + 1
        result.why.append(f"ran for {WHOLE_S} s without an end")
    elif status != 0 and result.failed == 0:
        result.failed = 1
        result.why.append(f"ended with status {status}")
    elif status == 0 and result.failed > 0:
        result.why.append("ended with status 0 all the same")
    elif status == 0 and result.passed + result.failed + result.skipped == 0:
        result.failed = 1
        result.why.append("ran nothing")
    lacks = LACKS.findall(said) if installed else []
    if lacks:
        result.failed, result.skipped = result.failed + len(lacks), result.skipped - len(lacks)
        result.why += ["a part is not there that make check installs: " + line for line in said.splitlines() if LACKS.match(line)]
    return result
