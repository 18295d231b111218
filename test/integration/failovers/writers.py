"""The programs that write, each with another driver at its defaults, and what they have recorded."""
import bisect
import collections
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from driver_packages import packages
from support import BIN, SLOWNESS, eventually

from .history import parse

HERE = Path(__file__).resolve().parent
LANES = 2
PAUSE_MS = 5


def command_of(driver):
    if driver == "pymongo":
        return [sys.executable, "-B", HERE / "pymongo_writer.py"]
    if driver == "libmongoc":
        program = BIN / "libmongoc_writer"
        if not program.exists():
            raise AssertionError(f"{program} was not built: install libmongoc-dev and build again")
        return [program]
    node, place = packages()
    folder = place / "failovers"  # packages are looked for in the folders above the program's
    folder.mkdir(exist_ok=True)
    for source in HERE.glob("*.mjs"):
        shutil.copy(source, folder)
    return [node, folder / f"{driver}_writer.mjs"]


DRIVERS = ("node", "mongoose", "pymongo", "libmongoc")


class Writer:
    """One program. Its records come in while it runs; `raw` keeps them as they came."""

    def __init__(self, driver, uri, folder):
        self.name = driver
        self.writes = []
        self._begun = collections.defaultdict(list)  # lane -> when its acknowledged writes began
        self._broken = None
        self._raw = open(folder / f"{driver}.tsv", "w")
        self._errors = folder / f"{driver}.err"
        command = [str(part) for part in (*command_of(driver), uri, driver, LANES, PAUSE_MS)]
        with open(self._errors, "w") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        try:
            for line in self.process.stdout:
                self._raw.write(line)
                write = parse(self.name, line)
                self.writes.append(write)
                if write.outcome == "acknowledged":
                    self._begun[write.lane].append(write.begun)
        except ValueError as broken:
            self._broken = broken
        finally:
            self._raw.close()

    def acknowledged_since(self, moment):
        """Of the lane with the fewest: how many writes that began after this moment were acknowledged."""
        if self.process.poll() is not None:
            raise AssertionError(f"the writer {self.name} ended with {self.process.returncode}: {self.said()}")
        lanes = [self._begun[lane] for lane in range(LANES)]
        return min(len(begun) - bisect.bisect_left(begun, moment) for begun in lanes)

    def said(self):
        last = [f"{w.kind} {w.number} {w.outcome} {w.said}" for w in self.writes[-3:]]
        return f"{self._errors.read_text()[-2000:]} {self._broken or ''} last: {last}"

    def end(self):
        """Lets it end its last writes."""
        self.process.stdin.close()
        code = self.process.wait(60 * SLOWNESS)
        self._reader.join(20 * SLOWNESS)
        if code != 0 or self._broken or self._reader.is_alive():
            raise AssertionError(f"the writer {self.name} ended with {code}: {self.said()}")

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(20 * SLOWNESS)


def await_writes(writers, moment, least=3, seconds=60):
    """Waits until every lane of every writer has had some writes acknowledged that began after this moment."""
    if not eventually(lambda: all(w.acknowledged_since(moment) >= least for w in writers), seconds):
        silent = [f"{w.name}: {w.said()}" for w in writers if w.acknowledged_since(moment) < least]
        raise AssertionError("no writes are acknowledged any more:\n" + "\n".join(silent))
