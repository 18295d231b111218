"""The packages of Node.js that tests use (drivers/package.json)."""
import functools
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent / "drivers"


@functools.cache
def packages():
    """Node.js, and the folder in which the packages are installed: programs below it find them."""
    installed = subprocess.run([str(HERE / "install.sh")], capture_output=True, text=True, timeout=600)
    if installed.returncode != 0:
        raise AssertionError("the drivers' packages are not there:\n" + installed.stderr)
    node, place = installed.stdout.splitlines()[-2:]
    return Path(node), Path(place)
