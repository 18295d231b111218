"""Finds names in the documents that the sources no longer have."""
import re

from sources import without_comments

# Pages that may name what the sources lack: decisions and the change log tell of the past, the table of features of work to come,
# and CONTRIBUTING.md has examples of spelling. docs/commands.md is printed from the code.
_LEFT_OUT = ("docs/decisions/", "docs/features.md", "docs/commands.md", "CHANGELOG.md", "CONTRIBUTING.md")
# Names with a hump, which no prose has: camelCase, PascalCase, kConstant.
_NAME = re.compile(r"\b(?:[a-z]+\d*(?:[A-Z]\w*)+|[A-Z][a-z]+\w*[A-Z]\w*)\b")
_BLOCK = re.compile(r"^[ \t]*```(\w*)\n(.*?)^[ \t]*```", re.S | re.M)
_SPAN = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?<![\w/<>*.-])[\w./-]+\.(?:hpp|cpp|capnp|py)\b")


def _line(text, offset):
    return text.count("\n", 0, offset) + 1


def existing_names(sources):
    """What documents name in back-ticks, or call in an example of C++, occurs in a source: names with a hump, and files."""
    known, paths = set(), [f"/{source.path}" for source in sources]
    for source in sources:
        if source.suffix != ".md":
            known.update(re.findall(r"\w+", without_comments(source.text) if source.is_cpp else source.text))
        known.update(re.findall(r"\w+", source.path))
    for page in sources:
        if page.suffix != ".md" or page.path.startswith(_LEFT_OUT):
            continue
        # An example declares names of its own: only those it calls have to exist.
        named = [(block.start(2) + call.start(), call.group(1)) for block in _BLOCK.finditer(page.text) if block.group(1) == "cpp"
                 for call in re.finditer(r"(\w+)(?=\()", block.group(2))]
        prose = _BLOCK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), page.text)
        for span in _SPAN.finditer(prose):
            named += [(span.start(), word) for word in _NAME.findall(span.group(1))]
            for file in _FILE.findall(span.group(1)):
                if not any(path.endswith(f"/{file.removeprefix('./')}") for path in paths):
                    yield page.path, _line(page.text, span.start()), f"names the file '{file}', which is not there"
        for at, name in named:
            if _NAME.fullmatch(name) and name not in known:
                yield page.path, _line(page.text, at), f"names '{name}', which no source has"
