"""What the rules look at: the project's files, and C++ text without comments and strings."""
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = {".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".cmake", ".capnp", ".js", ".mjs", ".css", ".html"}
TEXT = CODE | {".md", ".txt", ".yaml", ".yml", ".toml", ".json", ".jsonl", ".service", ".in", ""}


@dataclass(frozen=True)
class Source:
    """A file by its path from the root. `text` is its content."""
    path: str
    text: str

    @property
    def suffix(self):
        return Path(self.path).suffix

    @property
    def is_cpp(self):
        return self.suffix in (".hpp", ".cpp")

    @property
    def room(self):
        return self.path.split("/")[0]


def project_sources(root=ROOT):
    """Every text file that is in version control, or new and not ignored."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"], capture_output=True)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
        names = [n for n in names if not n.startswith(("build/", "data/", ".git/"))]
    sources = []
    for name in sorted(set(names)):
        path = root / name
        if path.suffix not in TEXT or not path.is_file():
            continue
        try:
            sources.append(Source(name, path.read_text()))
        except UnicodeDecodeError:
            continue  # a binary file, such as a fuzzer's input
    return sources


_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


def _blank(match):
    text = match.group()
    keep = '""' if text[0] in '"R' else ""
    return keep + " " * max(0, len(text) - len(keep) - text.count("\n")) + "\n" * text.count("\n")


def bare_code(text):
    """C++ text with comments, literals and preprocessor lines blanked out; the number of lines stays."""
    return _DIRECTIVE.sub(_blank, _NOISE.sub(_blank, text))


def without_comments(text):
    """C++ text whose comments are gone; literals stay."""
    return _NOISE.sub(lambda match: " " if match.group().startswith(("//", "/*")) else match.group(), text)


def comments(text):
    """(line number, comment) of every C++ comment."""
    for match in _NOISE.finditer(text):
        if match.group().startswith(("//", "/*")):
            yield text.count("\n", 0, match.start()) + 1, match.group()
