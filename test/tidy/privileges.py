"""docs/operators/privileges.md, from the table that the tests of privileges run."""
import json

TABLE, PAGE = "test/security/privileges.jsonl", "docs/operators/privileges.md"

_HEAD = """# Privileges

Generated from `test/security/privileges.jsonl` by `./dev docs`; do not edit. With `--auth` an operation needs all that its row names. A test
(`PrivilegesTest`) runs each row on collections of the user's own database and of another one, on system collections and on views of each:
with exactly these privileges it is allowed, with any of them missing it is not, whatever else the user may do.

- **The collection** is the one that the command or the pipeline runs on, or the view. A view is read by those who may `find` the view; what it
  stands on is checked when it is made or changed: its maker has to be allowed to `find` what it stands on and what its stages name.
- A privilege on a database covers its collections and views, but no `system.*` collection. Those need a role that names them.
- A cursor keeps what opened it in mind: after a change of users or roles each further batch is checked again.
- An error message shows no value of a document that the user may not `find`, such as the key of an index.
- `explain` needs what the explained command needs, and `find`.

| operation | needs | |
|---|---|---|
"""


def _needs(needs):
    if isinstance(needs, str):
        return needs
    grouped = {}
    for need in needs:
        action, resource = need.split(" on ", 1)
        grouped.setdefault(resource, []).append(f"`{action}`")
    return "; ".join(f"{', '.join(actions)} on {resource}" for resource, actions in grouped.items())


def privileges_page(table):
    rows = [json.loads(line) for line in table.split("\n") if line]
    return _HEAD + "".join(f"| {row['operation']} | {_needs(row['needs'])} | {row.get('note', '')} |\n" for row in rows)


def documented_privileges(sources):
    """The page of privileges is what their table makes it."""
    by_path = {source.path: source.text for source in sources}
    if by_path.get(PAGE, "") != privileges_page(by_path.get(TABLE, "")):
        yield PAGE, 1, f"differs from {TABLE}: run ./dev docs"
