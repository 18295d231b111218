"""Sources are formatted as .clang-format says."""
import shutil
import subprocess

from sources import ROOT

# Stands in docs/extending.md and docs/testing-protocols.md to the letter, in as few lines as a reader likes.
BY_HAND = ("examples/named_lease/",)


def formatted(sources, root=ROOT, program="clang-format"):
    """Every C++ source reads as clang-format writes it; None where the program is not there."""
    if not shutil.which(program):
        return None
    paths = [str(root / source.path) for source in sources if source.is_cpp and not source.path.startswith(BY_HAND)]
    found = subprocess.run([program, "--dry-run", "--ferror-limit=1", f"--style=file:{ROOT}/.clang-format", *paths], capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in found.stderr.split("\n") if "[-Wclang-format-violations]" in line})
    return [(path.removeprefix(str(root) + "/"), 1, "is not formatted: run ./dev fmt") for path in wrong]
