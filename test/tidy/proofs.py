"""docs/features.md promises only what tests show: each proof it names is there, by its whole name."""
import re
from fnmatch import fnmatchcase
from pathlib import PurePath

PAGE = "docs/features.md"
_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.M)
_SCRIPTED = re.compile(r"^\s*(?:def test_(\w+)|class (\w+))", re.M)
_ROW = re.compile(r"^\| [A-Z]+-\d+ \|")
# `name` and what stands in brackets right behind it.
_TOKEN = re.compile(r"`([^`]+)`(?: \(([^)]*)\))?")
# Files whose stem a row may name as a proof: the scenarios of the simulator, the mutants of a model.
_NAMED_FILES = re.compile(r"test/simulation/scenarios/(\w+)\.toml|test/model/mutants/(\w+)_mutants\.cpp")
_REGISTERED = re.compile(r"add_test\(NAME (\w+)")

# What rows name that is no test: words of the server, its options and commands, and a benchmark.
WORDS = frozenset((
    "$facet", "$replData", "--oplogMinRetentionHours", "./dev bench --only fairness", "FetcherParts::required", "HeldLock",
    "ProgressReporter", "_id", "buildIndexes: false", "create", "maxTimeMS", "minSnapshotHistoryWindowInSeconds",
    "partialMessageMemoryMB", "preAuthMessageMemoryMB", "replSetResizeOplog", "replSetUpdatePosition", "resync",
    "timeseries", "true", "validate"))


def unit_tests(sources):
    """The names of all tests in C++."""
    return {f"{suite}.{name}" for source in sources if source.is_cpp and source.path.startswith(("test/", "examples/"))
            for suite, name in _TEST.findall(source.text)}


class _Proofs:
    """All that may be named as a proof."""

    def __init__(self, sources):
        self.tests = unit_tests(sources)
        self.suites = {test.split(".")[0] for test in self.tests}
        self.scripts = {PurePath(source.path).name: {name for pair in _SCRIPTED.findall(source.text) for name in pair if name}
                        for source in sources if source.path.endswith("_test.py")}
        self.scripted = set().union(*self.scripts.values())
        self.others = {name for source in sources for pair in _NAMED_FILES.findall(source.path) for name in pair if name}
        self.others.update(name for source in sources if source.path.endswith("CMakeLists.txt")
                           for name in _REGISTERED.findall(source.text))

    def shows(self, name):
        """Whether it is a test, or a pattern that some test fits. Only `*` stands for what is left out."""
        if name.endswith("_test.py"):
            return name in self.scripts
        if name.startswith("test_"):
            return _any(self.scripted, name.removeprefix("test_"))
        if "." in name:
            return _any(self.tests, name)
        return name in self.others or "*" in name and _any(self.suites, name)

    def missing(self, name, parts):
        """What of a token of a row is not there. Brackets behind a script hold tests or classes of it, nothing else."""
        if not self.shows(name):
            if name not in WORDS:
                yield name
        elif name.endswith("_test.py"):
            yield from (f"{name} ({part})" for part in re.split(r",\s*", parts) if parts and not _any(self.scripts[name], part))


def _any(names, pattern):
    return pattern in names or "*" in pattern and any(fnmatchcase(name, pattern) for name in names)


def existing_proofs(sources):
    """What a feature's row calls a proof is a test of the project, and what works has one."""
    page = next((source for source in sources if source.path == PAGE), None)
    if not page:
        return
    proofs = _Proofs(sources)
    for number, line in enumerate(page.text.split("\n"), 1):
        if not _ROW.match(line):
            continue
        _, row, _, status, *rest = (cell.strip() for cell in line.split("|"))
        tokens = _TOKEN.findall("|".join(rest))
        if status not in ("works", "part", "not yet"):
            yield PAGE, number, f"{row} is '{status}', which is no status"
        if status == "works" and not any(proofs.shows(name) for name, _ in tokens):
            yield PAGE, number, f"{row} works, and no test is named that shows it"
        for name, parts in tokens:
            for missing in proofs.missing(name, parts):
                yield PAGE, number, f"there is no test {missing}"
