"""Processes of `droculo` that start quickly: one process imports everything, and forks for each command line.

Importing takes longer than what such a process does in a test. Run as a program it reads requests, and `Forked` is the other side.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


class Forked:
    """Starts, kills and waits for processes; those that are left at the end are killed."""

    def __enter__(self):
        self.pids = set()
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.forked"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        return self

    def __exit__(self, *error):
        for pid in self.pids:
            os.kill(pid, 9)  # children of the server, which has not waited for them yet: the number is still theirs
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()

    def start(self, words, log):
        """Run `droculo` with these words; what it prints is added to the log."""
        pid = self._ask("start", [str(word) for word in words], str(log))
        self.pids.add(pid)
        return pid

    def kill(self, pid):
        os.kill(pid, 9)
        self.wait(pid)

    def wait(self, pid, seconds=60):
        """The exit code, negative for a signal; None if it still runs."""
        code = self._ask("wait", pid, seconds)
        if code is not None:
            self.pids.discard(pid)
        return code

    def _ask(self, *request):
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())


def serve():
    import jax
    import zenoh  # noqa: F401

    import droculo.experiments.over_zenoh  # noqa: F401
    from droculo.cli import main

    assert not jax._src.xla_bridge.backends_are_initialized(), "threads of a compiler do not survive a fork"
    for line in sys.stdin:
        what, *rest = json.loads(line)
        answer = forked(main, *rest) if what == "start" else waited(*rest)
        print(json.dumps(answer), flush=True)


def forked(main, words, log):
    pid = os.fork()
    if pid == 0:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(file, stream)
        code = 1
        try:
            code = main(words)
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def waited(pid, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    return None


if __name__ == "__main__":
    serve()
