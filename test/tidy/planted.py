"""The rows of test/mutation/*.toml fit the sources: a text occurs once, and there is a test that has to notice."""
import tomllib
from fnmatch import fnmatchcase

from proofs import unit_tests


def planted_mutants(sources):
    """Each mutant of the sources can be planted, and names tests that are there."""
    texts = {source.path: source.text for source in sources}
    tests = unit_tests(sources)
    for table in (s for s in sources if s.path.startswith("test/mutation/") and s.suffix == ".toml"):
        for mutant in tomllib.loads(table.text)["mutant"]:
            count = texts.get(mutant["file"], "").count(mutant["text"])
            if count != 1:
                yield table.path, 1, f"'{mutant['name']}': its text occurs {count} times in {mutant['file']}, not once"
            pattern = mutant["tests"].removeprefix("*")
            if not any(fnmatchcase(test, pattern) for test in tests):
                yield table.path, 1, f"'{mutant['name']}': no test is called {mutant['tests']}"
