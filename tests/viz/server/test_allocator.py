"""Memory that is freed leaves the process."""

import os
import platform
import subprocess
import sys

import pytest

from tests.support.viz_helpers import ROOT

FREES = """
import threading
import numpy as np
from viz.server import serve

def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024

def work():
    np.ones(8 << 20, np.uint8)  # glibc would take it as a sign that large blocks come and go
    arrays = []
    for _ in range(60):
        arrays.append(np.ones(1 << 19, np.uint8))
        stays.append(np.ones(1000, np.uint8))  # between the arrays, as what a session holds

serve.return_memory()
before, stays = resident(), []
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="there is nothing to set elsewhere")
def test_freed_arrays_leave_the_process():
    command = [sys.executable, "-c", FREES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 40  # MB, of 240; 145 stay by default


def test_the_server_sets_the_allocator_before_it_starts():
    code = "from viz.server import serve; serve.return_memory = lambda: print('set'); serve.main()"
    command, environment = [sys.executable, "-c", code], os.environ | {"KEEP_MB": "too little"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "set\n", done.stderr
