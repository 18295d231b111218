#!/usr/bin/env python3
"""Enforces the rules of the house (rules.py) on every file of the project; `./dev test` and ctest run it.

Each broken rule is one failure. The last line is "N passed, M failed"."""
import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rules  # noqa: E402
import self_test  # noqa: E402
from formatting import formatted  # noqa: E402
from names import existing_names  # noqa: E402
from planted import planted_mutants  # noqa: E402
from precompiled import precompiled_headers  # noqa: E402
from privileges import PAGE, TABLE, documented_privileges, privileges_page  # noqa: E402
from proofs import existing_proofs  # noqa: E402
from sources import ROOT, project_sources  # noqa: E402


def read_exceptions():
    """rule -> subjects, from exceptions.txt: `rule subject: reason`. A line without a reason is refused."""
    found = {}
    for line in (ROOT / "test/tidy/exceptions.txt").read_text().split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        rule, rest = line.split(None, 1)
        subject, separator, reason = rest.partition(" -- ")
        if not separator or not reason.strip():
            sys.exit(f"test/tidy/exceptions.txt: '{line}' gives no reason (rule subject -- reason)")
        found.setdefault(rule, set()).add(subject.strip())
    return found


# Pages of docs/ that the server prints from its own tables, and the option that makes it do so.
PRINTED_PAGES = {"docs/commands.md": "--commands-page", "docs/operators/options.md": "--options-page"}


def printed_pages(build):
    """path -> text of the PRINTED_PAGES, or None where the server cannot tell (not built yet)."""
    server = Path(build) / "bin/trouped"
    pages = {}
    for path, option in PRINTED_PAGES.items() if server.is_file() else ():
        printed = subprocess.run([server, option], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        if printed.returncode != 0:
            return None
        pages[path] = printed.stdout
    return pages or None


def checks(sources, build):
    """(name, findings) of every rule that applies; findings is None for one that cannot be checked now."""
    exceptions = read_exceptions()
    yield "file_length", rules.file_length(sources, exceptions.get("file_length", ()))
    yield "function_length", rules.function_length(sources, exceptions.get("function_length", ()))
    for rule in (rules.include_direction, rules.actor_folder_order, rules.recovery_units, rules.units_of_work, rules.guarded_catalog, rules.world_from_environment, rules.header_guards, rules.stray_marks, rules.machine_paths,
                 rules.registered_tests, rules.unit_test_places, rules.documented_schemas, rules.documented_errors, documented_privileges,
                 rules.documented_fault_sites, rules.ordered_error_codes, rules.awaited_lambdas, precompiled_headers,
                 existing_names, existing_proofs, planted_mutants):
        skipped = exceptions.get(rule.__name__, ())
        yield rule.__name__, (f for f in rule(sources) if f[0] not in skipped)
    pages = printed_pages(build) if build else None
    yield "printed_pages", None if pages is None else rules.printed_pages(sources, pages)
    yield "formatted", formatted(sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="a build folder: its server prints pages of docs/")
    parser.add_argument("--self-test", action="store_true", help="first show that each rule finds a bad example")
    parser.add_argument("--write-docs", action="store_true", help="write the generated pages of docs/ and end")
    options = parser.parse_args()
    if options.write_docs:
        table = (ROOT / "messaging/errors/error_codes.txt").read_text()
        (ROOT / "docs/errors.md").write_text(rules.errors_page(table))
        (ROOT / "docs/contributors/fault-sites.md").write_text(rules.fault_sites_page(project_sources()))
        (ROOT / PAGE).write_text(privileges_page((ROOT / TABLE).read_text()))
        pages = printed_pages(options.build or ROOT / "build")
        for path, text in (pages or {}).items():
            (ROOT / path).write_text(text)
        if pages is None:
            print(f"left as they are, because the server is not built: {', '.join(PRINTED_PAGES)}")
        return 0

    passed = failed = 0
    if options.self_test:
        passed, failed = self_test.run()
    build = Path(options.build).resolve() if options.build else None
    for name, findings in checks(project_sources(), build):
        if findings is None:
            print(f"skip {name}: it needs a built server, or clang-format, which is not there")
            continue
        findings = list(findings)
        for path, line, what in findings:
            print(f"{path}:{line}: {what}")
        print(f"{'FAIL' if findings else 'ok  '} {name}")
        passed, failed = passed + (not findings), failed + bool(findings)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
