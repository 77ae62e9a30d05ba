"""Tasks in a process of its own, which may hang or die without harm."""

import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor

import numpy as np


def in_own_process(function, *arguments):
    """The result of a function in a process that has seen nothing else."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:  # whose processes may start those of a cluster
        return pool.submit(function, *arguments).result()


def serve(connection):
    """The other end of `Worker`, deaf to Ctrl-C, which ends its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with np.errstate(all="ignore"):
        while True:
            try:
                task, arguments = connection.recv()
            except EOFError:
                return
            try:
                answer = task(*arguments)
            except Exception as error:
                first, *_ = str(error).splitlines() or [""]
                answer = {"failed": f"{type(error).__name__}: {first[:200]}"}
            connection.send(answer)


class Worker:
    """A process for tasks, in whose place another one comes where it hangs or dies.

    Each begins with a task of ``warm_up``, a function and its arguments.
    """

    def __init__(self, *warm_up):
        self.process, self.warm_up = None, warm_up

    def __call__(self, task, *arguments, seconds):
        """The dict that a task returns, or says why there is none and whether it was late."""
        if self.process is None:
            self.start()
        late = False
        try:
            self.connection.send((task, arguments))
            if self.connection.poll(max(seconds, 0.0)):
                return self.connection.recv()
            failed, late = f"no answer within {seconds:g} s", True
        except (EOFError, ConnectionError):
            self.process.join(10)
            failed = f"the process ended with exit code {self.process.exitcode}"
        self.close()
        return {"failed": failed, "late": late}

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there,), daemon=True)
        self.process.start()
        there.close()
        if self.warm_up:
            self.connection.send((self.warm_up[0], self.warm_up[1:]))
            self.connection.recv()

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None
