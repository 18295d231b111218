"""docs/features.md promises only what tests show: each proof it names is there."""
import re
from fnmatch import fnmatchcase
from pathlib import PurePath

PAGE = "docs/features.md"
_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.M)
# `name` and what stands in brackets right behind it.
_PROOF = re.compile(r"`([^`]+)`(?: \(([^)]*)\))?")


def unit_tests(sources):
    """The names of all tests in C++."""
    return {f"{suite}.{name}" for source in sources if source.is_cpp and source.path.startswith(("test/", "examples/"))
            for suite, name in _TEST.findall(source.text)}


def _missing(proof, parts, tests, scripts):
    """What of a proof is not there."""
    if proof.endswith("_test.py"):
        if proof not in scripts:
            yield proof
            return
        # Words with blanks between them describe; single ones are names.
        yield from (f"{proof} ({part})" for part in re.split(r", ", parts or "")
                    if part and " " not in part
                    and not re.search(rf"(?:def test_\w*|class \w*){re.escape(part)}", scripts[proof]))
    elif re.fullmatch(r"\w+\.[\w*]+|\w+\*", proof):
        pattern = proof if "." in proof else proof + ".*"
        if not any(fnmatchcase(test, pattern) for test in tests):
            yield proof


def existing_proofs(sources):
    """What a feature's row calls a proof is a test of the project, and what works has one."""
    page = next((source for source in sources if source.path == PAGE), None)
    if not page:
        return
    tests = unit_tests(sources)
    scripts = {PurePath(source.path).name: source.text for source in sources if source.path.endswith("_test.py")}
    for number, line in enumerate(page.text.split("\n"), 1):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 6 or cells[3] not in ("works", "part"):
            continue
        proofs = _PROOF.findall(cells[4])
        if cells[3] == "works" and not proofs:
            yield PAGE, number, f"{cells[1]} works, and no test is named that shows it"
        for proof, parts in proofs:
            for missing in _missing(proof, parts, tests, scripts):
                yield PAGE, number, f"there is no test {missing}"
