"""The rules of the house. Each takes the sources and yields (path, line, what is wrong)."""
import re

from functions import functions
from sources import CODE, bare_code

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70

# Which rooms a room may include headers of, besides its own.
BELOW = {
    "messaging": set(),
    "storage": {"messaging"},
    "state_machines": {"messaging"},
    "actors": {"messaging", "storage", "state_machines"},
    "supervisors": {"messaging", "storage", "state_machines", "actors"},
}
# Within actors/, lowest first: a folder includes only itself and folders before it.
ACTOR_FOLDERS = ["environment", "kernel", "storage", "machines", "replication", "server", "maintenance", "transport", "commands"]
# Libraries that only some folders may include: the rest of the project sees our own interfaces instead.
GUARDED = {
    "caf/": ("actors/", "supervisors/", "test/", "examples/"),
    "wiredtiger.h": ("storage/engine/", "test/unit/storage/engine/", "test/bench/"),
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
_MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# How the machine is asked for time, chance, or to wait.
_MACHINE = re.compile(r"\b(steady|system|high_resolution)_clock::now\b|\brandom_device\b|\bsleep_(for|until)\b"
                      r"|\b(clock_gettime|gettimeofday|usleep|nanosleep|getrandom|RAND_bytes)\s*\(|\bsecureRandom\(\)")
_LAMBDA_WITH_CAPTURES = re.compile(r"(?<![\w)\]\[])\s*\[(?!\[)[^\[\]]*[^\[\]\s][^\[\]]*\]\s*(\(|\{|<|mutable\b)")
_MACHINE_PATH = re.compile(r"(?<![\w.$}{-])/(wor" r"k|home/\w+|Users/\w+|ro" r"ot|tmp/brief)(?![\w-])(?!/\.\.)")


def _line(text, offset):
    return text.count("\n", 0, offset) + 1


def file_length(sources, exceptions=()):
    """Files have at most 500 lines."""
    for source in sources:
        lines = source.text.count("\n")
        if source.suffix in CODE and lines > MAX_FILE_LINES and source.path not in exceptions:
            yield source.path, lines, f"has {lines} lines, more than {MAX_FILE_LINES}: split it by purpose"


def function_length(sources, exceptions=()):
    """Functions have at most 70 lines."""
    for source in sources:
        if not source.is_cpp:
            continue
        for name, line, length in functions(source.text):
            if length > MAX_FUNCTION_LINES and f"{source.path}:{name}" not in exceptions:
                yield source.path, line, f"'{name}' has {length} lines, more than {MAX_FUNCTION_LINES}"


def include_direction(sources):
    """Rooms include only rooms below them; CAF and WiredTiger stay behind our interfaces."""
    for source in sources:
        if not source.is_cpp:
            continue
        for match in _INCLUDE.finditer(source.text):
            target, line = match.group(2), _line(source.text, match.start())
            room = target.split("/")[0]
            # An example is a project of its own, with headers beside its sources.
            if match.group(1) == '"' and room not in BELOW and room != "test" and not source.path.startswith("examples/"):
                yield source.path, line, f'"{target}": include project headers from the root, libraries with <>'
            if source.room in BELOW and room in BELOW and room != source.room and room not in BELOW[source.room]:
                yield source.path, line, f"{source.room}/ may not include {target}"
            if source.room in BELOW and match.group(1) == '"' and room == "test":
                yield source.path, line, f"{source.room}/ may not include the tests' {target}"
            for library, places in GUARDED.items():
                if target.startswith(library) and not source.path.startswith(places):
                    yield source.path, line, f"<{target}> may be included only below {', '.join(places)}"


def actor_folder_order(sources):
    """Folders of actors/ include only themselves and the folders before them."""
    order = {folder: index for index, folder in enumerate(ACTOR_FOLDERS)}
    for source in sources:
        parts = source.path.split("/")
        if not source.is_cpp or parts[0] != "actors":
            continue
        if parts[1] not in order:
            yield source.path, 1, f"actors/{parts[1]}/ has no place in ACTOR_FOLDERS"
            continue
        for match in _INCLUDE.finditer(source.text):
            target = match.group(2).split("/")
            if target[0] == "actors" and order.get(target[1], len(order)) > order[parts[1]]:
                yield source.path, _line(source.text, match.start()), f"actors/{parts[1]}/ may not include {match.group(2)}"


def world_from_environment(sources):
    """Rooms ask the environment for time and chance, never the machine: simulated nodes would not be the same in every run."""
    for source in sources:
        if not source.is_cpp or source.room not in BELOW or source.path.startswith("supervisors/cli/"):
            continue  # the command line is a program of its own, beside the nodes
        for match in _MACHINE.finditer(bare_code(source.text)):
            yield (source.path, _line(source.text, match.start()),
                   f"asks the machine ('{match.group().strip()}'): time and chance come from the environment")


_RECOVERY_UNIT = re.compile(r"\bRecoveryUnit\s+\w+\s*[({;]|\bmake_(?:unique|shared)<(?:storage::)?RecoveryUnit>|\bnew (?:storage::)?RecoveryUnit\b")


def recovery_units(sources):
    """Only an operation context makes a recovery unit: all else works through its operation's."""
    for source in sources:
        if not source.is_cpp or source.room not in BELOW or source.path.startswith("storage/operation/"):
            continue
        for match in _RECOVERY_UNIT.finditer(bare_code(source.text)):
            yield source.path, _line(source.text, match.start()), "makes a recovery unit of its own: use the operation context's"


_UNIT_OF_WORK = re.compile(r"\bWriteUnitOfWork\s+\w+\s*[({;]|<(?:storage::)?WriteUnitOfWork>")
_WRITERS = ("storage/", "actors/storage/collection_writer")


def units_of_work(sources):
    """Writes pass the collection writer: nobody above storage opens units of work by itself."""
    for source in sources:
        if not source.is_cpp or source.room not in BELOW or source.path.startswith(_WRITERS):
            continue
        for match in _UNIT_OF_WORK.finditer(bare_code(source.text)):
            yield source.path, _line(source.text, match.start()), "opens a unit of work of its own: use the CollectionWriter"


_CATALOG_LOOKUP = re.compile(r"\bCatalogView::open\b|\bunguarded\(\)\s*[^,)\s]|\b(?:storage::)?Catalog\s*&\s*\w+|\bwrites\.catalog\b|"
                             r"\bwriterOf\(\w+\)\s*\.\s*(?:open|createIfMissing)\(")
_CLIENTS_WORK = ("actors/commands/", "actors/server/", "actors/transport/")
_GUARDS = ("actors/server/namespace_resolution.cpp", "actors/server/guarded_catalog.hpp", "actors/server/rights_collection.",
           "actors/server/user_store.", "actors/server/role_store.", "actors/commands/write_support.")


def guarded_catalog(sources):
    """A client's name becomes a collection only after its privileges were checked: nobody goes past NamespaceResolution."""
    for source in sources:
        if not source.is_cpp or not source.path.startswith(_CLIENTS_WORK) or source.path.startswith(_GUARDS):
            continue
        for match in _CATALOG_LOOKUP.finditer(bare_code(source.text)):
            yield (source.path, _line(source.text, match.start()),
                   f"reaches into the catalog ('{match.group().strip()}'): resolve the name (NamespaceResolution) and use GuardedCatalog")


def header_guards(sources):
    """Headers begin with #pragma once; a source includes its own header first, which proves that it stands alone."""
    headers = {source.path for source in sources if source.suffix == ".hpp"}
    for source in sources:
        if source.suffix == ".hpp" and "#pragma once" not in source.text:
            yield source.path, 1, "has no #pragma once"
        own = source.path.removesuffix(".cpp") + ".hpp"
        if source.suffix == ".cpp" and own in headers:
            first = _INCLUDE.search(source.text)
            names = (own, own.rsplit("/", 1)[1]) if source.path.startswith("examples/") else (own,)  # headers beside their sources
            if not first or first.group(2) not in names:
                yield source.path, 1, f'includes "{own}" not first'


def stray_marks(sources):
    """No notes to do something later: do it, or open an issue."""
    for source in sources:
        for match in _MARK.finditer(source.text):
            yield source.path, _line(source.text, match.start()), f"'{match.group()}' left in the text"


def machine_paths(sources):
    """No paths of somebody's machine."""
    for source in sources:
        for match in _MACHINE_PATH.finditer(source.text):
            yield source.path, _line(source.text, match.start()), f"names a machine's path: {match.group()}"


def registered_tests(sources):
    """Every *_test.cpp lies where a test program picks it up, and holds at least one test."""
    lists = {s.path.rsplit("/", 1)[0]: s.text for s in sources if s.path.endswith("/CMakeLists.txt")}
    for source in sources:
        if not source.path.endswith("_test.cpp"):
            continue
        parts = source.path.split("/")
        folder, stem = source.path.rsplit("/", 1)[0], parts[-1].removesuffix(".cpp")
        in_unit = parts[:2] == ["test", "unit"] and len(parts) > 3 and parts[2] in BELOW
        if not in_unit and not any(folder.startswith(d) and (stem in t or "_test.cpp" in t) for d, t in lists.items()):
            yield source.path, 1, "is in no test program: put it below test/unit/<room>/, or name it in a CMakeLists.txt"
        if not re.search(r"\b(TYPED_TEST_P|TYPED_TEST|TEST(_[FP])?|RC_GTEST_\w+|INSTANTIATE_TEST_SUITE_P)\s*\(", bare_code(source.text)):
            yield source.path, 1, "contains no test"


def unit_test_places(sources):
    """A unit test lies where its subject lies: test/unit/<folder>/<stem>_test.cpp for <folder>/."""
    folders = {source.path.rsplit("/", 1)[0] for source in sources if source.is_cpp and source.room in BELOW}
    for source in sources:
        if source.path.startswith("test/unit/") and source.path.endswith("_test.cpp"):
            folder = source.path.removeprefix("test/unit/").rsplit("/", 1)[0]
            if folder not in folders:
                yield source.path, 1, f"mirrors no folder: there is no {folder}/"


def _expression_end(code, start):
    """Where the expression ends that begins at `start`: its semicolon, comma, or the bracket that encloses it."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and code[at] == ";"):
            return at
    return len(code)


def awaited_lambdas(sources):
    """No lambda with captures inside a co_await expression, no co_await in a conditional expression: g++ 12 destroys
    the captures, or the copy of the other side, twice."""
    for source in sources:
        if not source.is_cpp or "co_await" not in source.text:
            continue
        code = bare_code(source.text)
        for match in re.finditer(r"(?<!operator )\bco_await\b", code):
            found = _LAMBDA_WITH_CAPTURES.search(code, match.end(), _expression_end(code, match.end()))
            if found:
                yield source.path, _line(code, found.start(1)), "lambda with captures inside co_await: make it a local first"
        for match in re.finditer(r"\?[^;{}?]*\bco_await\b", code):
            yield source.path, _line(code, match.end()), "co_await in a conditional expression: write an if"


def documented_schemas(sources):
    """Every message and field of a Cap'n Proto schema, and every value of an enum, has a comment beside or below it."""
    item = re.compile(r"^\s*(struct|interface|\w+\s*@\d+)")
    for source in sources:
        if source.suffix != ".capnp":
            continue
        lines = source.text.split("\n")
        for index, line in enumerate(lines):
            code = line.split("#")[0]
            if not item.match(code):
                continue
            end = index
            while end + 1 < len(lines) and not re.search(r"[;{]", lines[end].split("#")[0]):
                end += 1
            following = lines[end + 1].strip() if end + 1 < len(lines) else ""
            if not any("#" in part for part in lines[index:end + 1]) and not following.startswith("#"):
                yield source.path, index + 1, f"'{code.strip()}' has no comment"


def printed_pages(sources, pages):
    """The pages of docs/ that the server prints from its tables are up to date. `pages`: path -> expected text."""
    by_path = {source.path: source.text for source in sources}
    for path, expected in pages.items():
        if by_path.get(path) != expected:
            yield path, 1, "differs from what the server prints: run ./dev docs"


def documented_errors(sources):
    """docs/errors.md is what the error table makes it."""
    by_path = {source.path: source.text for source in sources}
    expected = errors_page(by_path.get("messaging/errors/error_codes.txt", ""))
    if by_path.get("docs/errors.md") != expected:
        yield "docs/errors.md", 1, "differs from messaging/errors/error_codes.txt: run ./dev docs"


def errors_page(table):
    """docs/errors.md, from the lines `number|Name|meaning`; a name with a star is not shown to clients."""
    rows = [line.split("|", 2) for line in table.split("\n") if re.match(r"^\d+\|", line)]
    body = "".join(f"| {number} | `{'Location' + number if name.startswith('*') else name}` | {meaning} |\n"
                   for number, name, meaning in sorted(rows, key=lambda r: int(r[0])))
    return ("# Errors\n\nGenerated from `messaging/errors/error_codes.txt` by `./dev docs`; do not edit. Numbers and names are those\n"
            "that drivers know. An error without a row here is shown as `Location<number>`.\n\n"
            "| code | codeName | meaning |\n|---:|---|---|\n" + body)


_FAULT_SITE = re.compile(r'^(?:inline )?const FaultSite \w+\(\s*"([^"]*)",\s*([\d.]+),\s*((?:"[^"]*"\s*)+)\);', re.M)


def fault_sites(sources):
    """(name, most, meaning, path, line) of every fault site in the code, by name."""
    return sorted((name, most, "".join(re.findall(r'"([^"]*)"', meaning)), source.path, _line(source.text, match.start()))
                  for source in sources if source.is_cpp and source.room in BELOW
                  for match in _FAULT_SITE.finditer(source.text)
                  for name, most, meaning in [match.groups()])


def documented_fault_sites(sources):
    """Fault sites have names of their own, `room.part.what-happens`, and stand on their page."""
    by_path = {source.path: source.text for source in sources}
    places = {}
    for name, _, _, path, line in fault_sites(sources):
        if not re.fullmatch(r"[a-z-]+(\.[a-z-]+){2}", name):
            yield path, line, f"'{name}' is no name of a fault site: room.part.what-happens"
        if places.setdefault(name, (path, line)) != (path, line):
            yield path, line, f"the fault site '{name}' is at {places[name][0]} already"
    if by_path.get("docs/contributors/fault-sites.md", "") != fault_sites_page(sources):
        yield "docs/contributors/fault-sites.md", 1, "differs from the fault sites in the code: run ./dev docs"


def fault_sites_page(sources):
    """docs/contributors/fault-sites.md, from the declarations in the code."""
    rows = "".join(f"| `{name}` | {meaning} | {float(most):.1%} | `{path}` |\n"
                   for name, most, meaning, path, _ in fault_sites(sources))
    return ("# Fault sites\n\nGenerated from the `FaultSite` objects in the code by `./dev docs`; do not edit. A site is a place that fails on\n"
            "purpose, as it does in reality, when somebody has asked for it: the simulator draws for each seed which of them are active\n"
            "and how often they fire ([simulation.md](simulation.md)), and `configureFailPoint` arms one by its name on a server that was\n"
            "started with `enableTestCommands`. Without either they cost one load of a pointer.\n\n"
            "| site | what happens | at most | where |\n|---|---|---:|---|\n" + rows)


def ordered_error_codes(sources):
    """The error table is in the order of the numbers; an error number and an error name occur once."""
    for source in sources:
        if source.path != "messaging/errors/error_codes.txt":
            continue
        seen, highest = {}, -1
        for index, line in enumerate(source.text.split("\n")):
            if not re.match(r"^\d+\|", line):
                continue
            number = int(line.split("|")[0])
            if number < highest:
                yield source.path, index + 1, f"{number} comes after {highest}: the table is in the order of the numbers"
            highest = max(highest, number)
            for key in line.split("|")[:2]:
                if key in seen:
                    yield source.path, index + 1, f"'{key}' stands in line {seen[key]} too"
                seen[key] = index + 1
