"""Shows of each rule that it finds a bad example and lets the good one pass."""
import shutil
import tempfile
from pathlib import Path

import rules
import singly
from formatting import formatted
from functions import functions
from names import existing_names
from planted import planted_mutants
from precompiled import precompiled_headers
from privileges import PAGE, TABLE, documented_privileges, privileges_page
from proofs import existing_proofs
from sources import Source

_LONG = "\n".join(f"  call({i});" for i in range(80))
_TEST = "TEST(A, B) { EXPECT_TRUE(true); }\n"
_MARK = "TO" "DO"
_PLACE = "wor" "k/x"
_SCRIPT = ("test/integration/a_test.py", "class Kept:\n    def test_it_holds(self):\n")


def _row(proof, status="works"):
    return [("docs/features.md", f"| A-1 | a | {status} | {proof} |\n"), ("test/unit/a_test.cpp", _TEST), _SCRIPT,
            ("test/simulation/scenarios/short_logs.toml", ""), ("test/model/mutants/vote_mutants.cpp", "")]


_SITE = 'const FaultSite kTorn("kernel.link.torn", 0.02, "it is torn");\n'
_PRIVILEGE = '{"operation": "a", "command": {"a": 1}, "needs": ["find on the collection"]}\n'
_SITES = rules.fault_sites_page([Source("actors/a.cpp", _SITE)])

_MUTANT = '[[mutant]]\nname = "a"\nfile = "storage/a.cpp"\ntext = "f();"\nreplacement = ""\nprogram = "unit_storage"\ntests = "A.*"\n'

# rule, bad example, good example (each a list of path and text)
CASES = [
    (planted_mutants, [("test/mutation/a.toml", _MUTANT), ("storage/a.cpp", "f(); f();"), ("test/unit/a_test.cpp", _TEST)],
     [("test/mutation/a.toml", _MUTANT), ("storage/a.cpp", "f();"), ("test/unit/a_test.cpp", _TEST)]),
    (planted_mutants, [("test/mutation/a.toml", _MUTANT), ("storage/a.cpp", "f();")],
     [("test/mutation/a.toml", _MUTANT), ("storage/a.cpp", "g(); f();"), ("test/unit/a_test.cpp", _TEST)]),
    (existing_proofs, [("docs/features.md", "| A-1 | a | works | |\n")], [("docs/features.md", "| A-1 | a | not yet | |\n")]),
    (existing_proofs, _row("`A.B`")[:1], _row("`A.B`")),
    (existing_proofs, _row("`A.C`, `A.B`"), _row("`A.*`, `A*` (many times)")),
    (existing_proofs, _row("`A.B`, `a_test.py` (it_hol)"), _row("`a_test.py` (it_holds, Kept)")),
    (existing_proofs, _row("`A.B`, `a_test.py` (it holds)"), _row("`a_test.py` (it_*)")),
    (existing_proofs, _row("`A.B`, `test_it_hol`"), _row("`test_it_holds`")),
    (existing_proofs, _row("`A.B`, `A`"), _row("the scenario `short_logs`, the mutants of `vote`")),
    (existing_proofs, _row("`A.B`, `.B`"), _row("`A.B`, of `maxTimeMS`")),
    (existing_proofs, _row("`maxTimeMS`"), _row("`maxTimeMS`", "not yet")),
    (existing_proofs, _row("`A.B`", "maybe"), _row("missing: all", "part")),
    (existing_names, [("docs/a.md", "It calls `commitTwice`.\n"), ("storage/a.cpp", "void commitOnce();  // not commitTwice\n")],
     [("docs/a.md", "It calls `A::commitOnce`; commitTwice is no more.\n"), ("storage/a.cpp", "void commitOnce();\n")]),
    (existing_names, [("docs/a.md", "```cpp\nauto x = makeTwo(1);\n```\n"), ("storage/a.cpp", "")],
     [("docs/a.md", "```cpp\nconst int newName = makeTwo(1);\n```\n"), ("storage/a.cpp", "int makeTwo(int);\n")]),
    (existing_names, [("docs/a.md", "See `b/a.hpp`.\n"), ("storage/a.hpp", "")],
     [("docs/a.md", "See `storage/a.hpp`, `a.hpp`, `<stem>_test.cpp`.\n"), ("storage/a.hpp", "")]),
    (rules.file_length, [("storage/a.cpp", "int x;\n" * 501)], [("storage/a.cpp", "int x;\n" * 500)]),
    (rules.function_length, [("storage/a.cpp", f"void f(int a) {{\n{_LONG}\n}}\n")],
     [("storage/a.cpp", "void f(int a) {\n  call(1);\n}\n" + f"int k[] = {{\n{_LONG.replace(';', ',')}\n}};\n")]),
    (rules.function_length, [("actors/a.cpp", f"A::A(int x) : x_{{x}}, y_{{2}} {{\n{_LONG}\n}}\n")],
     [("actors/a.hpp", "class A {\n" + "  void f(int);\n" * 90 + "};\n")]),
    (rules.function_length, [("actors/a.cpp", f"const C kC{{.run = [](R r) -> T {{\n{_LONG}\n}}}};\n")],
     [("actors/a.cpp", "const C kC{.run = [](R r) -> T { return 1; }};\n" * 90)]),
    (rules.include_direction, [("messaging/a.cpp", '#include "storage/b.hpp"\n')], [("storage/a.cpp", '#include "messaging/b.hpp"\n')]),
    (rules.include_direction, [("state_machines/a.cpp", '#include "storage/b.hpp"\n')], [("actors/a.cpp", '#include "storage/b.hpp"\n')]),
    (rules.include_direction, [("storage/a.cpp", "#include <caf/all.hpp>\n")], [("actors/a.cpp", "#include <caf/all.hpp>\n")]),
    (rules.include_direction, [("actors/a.cpp", "#include <wiredtiger.h>\n")], [("storage/engine/a.cpp", "#include <wiredtiger.h>\n")]),
    (rules.include_direction, [("storage/a.cpp", '#include "b.hpp"\n')], [("storage/a.cpp", '#include "storage/b.hpp"\n')]),
    (rules.include_direction, [("actors/a.cpp", '#include "examples/lease/b.hpp"\n')], [("examples/lease/a.cpp", '#include "b.hpp"\n')]),
    (rules.actor_folder_order, [("actors/server/a.cpp", '#include "actors/commands/b.hpp"\n')],
     [("actors/commands/a.cpp", '#include "actors/server/b.hpp"\n')]),
    (rules.actor_folder_order, [("actors/attic/a.cpp", "int x;\n")], [("actors/kernel/a.cpp", "int x;\n")]),
    (rules.world_from_environment, [("storage/a.cpp", "auto t = std::chrono::steady_clock::now();\n")],
     [("storage/a.cpp", "auto t = environment.now();  // not steady_clock::now\n"), ("test/a.cpp", "std::random_device d;\n")]),
    (rules.recovery_units, [("actors/a.cpp", "storage::RecoveryUnit unit(pool);\n")],
     [("actors/a.cpp", "void f(storage::RecoveryUnit& unit);\n"), ("storage/operation/a.cpp", "RecoveryUnit unit(pool);\n")]),
    (rules.units_of_work, [("actors/a.cpp", "storage::WriteUnitOfWork work(unit);\n")],
     [("actors/a.cpp", "writer.once(body);\n"), ("storage/catalog/a.cpp", "WriteUnitOfWork work(unit);\n")]),
    (rules.guarded_catalog, [("actors/commands/a.cpp", "auto c = server.catalog.unguarded().find(ns);\n")],
     [("actors/commands/a.cpp", "auto c = server.catalog.find(ns); drop(server.catalog.unguarded(), c);\n"), ("storage/a.cpp", "Catalog& catalog;\n")]),
    (rules.guarded_catalog, [("actors/commands/a.cpp", "auto target = co_await writerOf(request).open(ns);\n")],
     [("actors/commands/a.cpp", "auto target = co_await openForWrite(request, ns);\n")]),
    (rules.guarded_catalog, [("actors/transport/a.cpp", "void f(storage::Catalog& catalog);\n")],
     [("actors/maintenance/a.cpp", "void f(storage::Catalog& catalog);\n")]),
    (rules.header_guards, [("storage/a.hpp", "int x;\n")], [("storage/a.hpp", "#pragma once\n")]),
    (rules.header_guards, [("storage/a.hpp", "#pragma once\n"), ("storage/a.cpp", '#include <map>\n#include "storage/a.hpp"\n')],
     [("storage/a.hpp", "#pragma once\n"), ("storage/a.cpp", '#include "storage/a.hpp"\n#include <map>\n')]),
    (rules.stray_marks, [("storage/a.cpp", f"// {_MARK}: later\n")], [("storage/a.cpp", '"/tmp/tmp.XXXXXX"\n')]),
    (rules.machine_paths, [("docs/a.md", f"see /{_PLACE}\n")], [("docs/a.md", f"see docs/{_PLACE} and ./{_PLACE}\n")]),
    (rules.registered_tests, [("test/unit/a_test.cpp", _TEST)], [("test/unit/storage/engine/a_test.cpp", _TEST)]),
    (rules.registered_tests, [("test/unit/storage/engine/a_test.cpp", "int x;\n")], [("test/unit/storage/engine/a_test.cpp", _TEST)]),
    (rules.unit_test_places, [("storage/engine/a.cpp", ""), ("test/unit/storage/motor/a_test.cpp", _TEST)],
     [("storage/engine/a.cpp", ""), ("test/unit/storage/engine/a_test.cpp", _TEST)]),
    (rules.documented_schemas, [("messaging/schemas/a.capnp", "struct A {\n  # An A.\n  x @0 :Text;\n  y @1 :Text;  # y\n}\n")],
     [("messaging/schemas/a.capnp", "struct A {\n  # An A.\n  x @0 :Text;\n  # x\n  y @1 :Text;  # y\n}\n")]),
    (lambda s: rules.printed_pages(s, {"docs/commands.md": "`ping`\n"}), [("docs/commands.md", "`pong`\n")], [("docs/commands.md", "`ping`\n")]),
    (rules.documented_errors, [("messaging/errors/error_codes.txt", "1|A|a\n"), ("docs/errors.md", "")],
     [("messaging/errors/error_codes.txt", "1|A|a\n"), ("docs/errors.md", rules.errors_page("1|A|a\n"))]),
    (documented_privileges, [(TABLE, _PRIVILEGE), (PAGE, privileges_page(""))], [(TABLE, _PRIVILEGE), (PAGE, privileges_page(_PRIVILEGE))]),
    (rules.documented_fault_sites, [("actors/a.cpp", _SITE)], [("actors/a.cpp", _SITE), ("docs/contributors/fault-sites.md", _SITES)]),
    (rules.documented_fault_sites,
     [("actors/a.cpp", _SITE), ("actors/b.cpp", _SITE),
      ("docs/contributors/fault-sites.md", rules.fault_sites_page([Source("actors/a.cpp", _SITE), Source("actors/b.cpp", _SITE)]))],
     [("actors/a.cpp", _SITE), ("docs/contributors/fault-sites.md", _SITES)]),
    (rules.machine_paths, [("docs/a.md", "see /ro" "ot/x, /ro" "ot\n")], [("actors/a.cpp", 'address("/root-watch")\n')]),
    (rules.awaited_lambdas, [("actors/a.cpp", "Task<void> f(int x) {\n  co_await g(1, [x] { return x; });\n}\n")],
     [("actors/a.cpp", "Task<void> f(int x) {\n  const auto h = [x] { return x; };\n  co_await g(a[x], [] { return 1; }, h);\n}\n")]),
    (rules.awaited_lambdas, [("actors/a.cpp", "  if (!(co_await g([&](int) mutable {\n    return x;\n  })).isOK()) co_return;\n")],
     [("actors/a.cpp", "  if (!(co_await g()).isOK()) h([&] { return x; });\n")]),
    (rules.awaited_lambdas, [("actors/a.cpp", "  auto x = one ? kept : co_await other();\n")],
     [("actors/a.cpp", "  auto x = one ? kept : other();\n  if (one) x = co_await other();\n")]),
    (precompiled_headers, [("actors/a.hpp", "std::vector<int> f();\n")], [("actors/a.hpp", "#include <vector>\nstd::vector<int> f();\n")]),
    (precompiled_headers, [("actors/a.hpp", '#include "actors/b.hpp"\nstd::map<int, int> f();\n'), ("actors/b.hpp", "int x;\n")],
     [("actors/a.hpp", '#include "actors/b.hpp"\nstd::map<int, int> f();\n'), ("actors/b.hpp", "#include <map>\n")]),
    (rules.ordered_error_codes, [("messaging/errors/error_codes.txt", "2|B|b\n1|A|a\n")],
     [("messaging/errors/error_codes.txt", "# 3\n1|A|a\n2|B|b\n")]),
    (rules.ordered_error_codes, [("messaging/errors/error_codes.txt", "1|A|a\n1|B|b\n")],
     [("messaging/errors/error_codes.txt", "1|A|a\n2|B|b\n")]),
]


def _check_singly():
    """a text that uses what it does not include, or warns, does not compile by itself"""
    bad = ("std::string f();\n", "#include <string>\nstatic int unused() { return 1; }\n")
    return not shutil.which(singly.COMPILER) or all(singly.compile_text(singly.FLAGS, text) for text in bad) and \
        singly.compile_text(singly.FLAGS, "#include <string>\nstd::string f();\n") is None


def _check_measure():
    """Lengths are counted from the line where the declaration begins to the closing brace."""
    text = 'namespace n {\nstruct S {\n  int f(\n      int a) const {\n    return "}"[0];\n  }\n};\n}\n'
    return [(line, length) for _, line, length in functions(text)] == [(3, 4)]


def _check_formatting():
    """formatting finds a source that clang-format would write otherwise"""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bad.cpp").write_text("int  x ;\n")
        (Path(folder) / "good.cpp").write_text("int x;\n")
        found = formatted([Source("bad.cpp", ""), Source("good.cpp", "")], Path(folder))
        return found is None or [path for path, _, _ in found] == ["bad.cpp"]


def run():
    """(passed, failed); prints what failed."""
    results = []
    for index, (rule, bad, good) in enumerate(CASES):
        name = getattr(rule, "__name__", "rule")
        finds = list(rule([Source(path, text) for path, text in bad]))
        passes = not list(rule([Source(path, text) for path, text in good]))
        if not finds:
            print(f"FAIL self-test {index} ({name}): the bad example was not found")
        if not passes:
            print(f"FAIL self-test {index} ({name}): the good example was found faulty")
        results.append(bool(finds) and passes)
    for check in (_check_singly, _check_measure, _check_formatting):
        results.append(check())
        if not results[-1]:
            print(f"FAIL self-test: {check.__doc__}")
    print(f"{'ok  ' if all(results) else 'FAIL'} self-tests of the rules ({len(results)})")
    return sum(results), len(results) - sum(results)
