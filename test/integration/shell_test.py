"""What packages tell a shell and its user about the programs: completion for bash, and manual pages."""
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"trouped": "trouped.8", "troupe": "troupe.1"}
# Calls what `complete` has registered, as bash does when Tab is pressed behind the last word.
PRESS_TAB = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
function=$(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/')
"$function"
printf '%s\n' "${COMPREPLY[@]}"
"""


def told(program, *arguments):
    return subprocess.run([str(BIN / program), *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def options_of(help_text):
    """Names of all options that a help lists."""
    columns = re.findall(r"^ +(-\S+)", help_text, re.M)
    return {name for column in columns for name in re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", column)}


def options_of_command(command):
    """Those of a command alone: the help of each lists --help-all, too, which is the program's."""
    return options_of(told("troupe", command, "--help")) - {"--help-all"}


def commands_of(program):
    listed = told(program, "--help").partition("ommands:\n")[2]
    return re.findall(r"^  (\w+) ", listed, re.M)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for program in PAGES:
            (Path(cls.folder.name) / program).write_text(told(program, "--bash-completion"))

    def complete(self, line):
        """What bash offers for the last word of a line."""
        words = line.split(" ")
        done = subprocess.run(["bash", "--norc", "-c", PRESS_TAB, "bash", str(Path(self.folder.name) / words[0]), *words],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [offer for offer in done.stdout.splitlines() if offer]

    def test_options_of_the_server(self):
        self.assertEqual(self.complete("trouped --tlsM"), ["--tlsMode"])
        self.assertEqual(self.complete("trouped --dbpath /x --nojou"), ["--nojournal"])
        offered = set(self.complete("trouped --"))
        listed = options_of(told("trouped", "--help"))
        self.assertIn("--wiredTigerCacheSizeGB", listed)
        self.assertEqual(listed - offered, set())

    def test_values_that_are_few(self):
        self.assertEqual(self.complete("trouped --tlsMode "), ["disabled", "allowTLS", "preferTLS", "requireTLS"])
        self.assertEqual(self.complete("trouped --logFormat t"), ["text"])
        self.assertEqual(self.complete("troupe import --type js"), ["json", "jsonl"])
        self.assertEqual(self.complete("troupe import --type json --db "), [], "bash offers files where nothing is known")
        self.assertEqual(self.complete("troupe cluster st"), ["start", "stop", "status"])
        self.assertEqual(self.complete("troupe cluster kill "), [])

    def test_commands_and_their_options(self):
        commands = commands_of("troupe")
        self.assertIn("import", commands)
        self.assertEqual(self.complete("troupe "), commands)
        self.assertEqual(self.complete("troupe im"), ["import"])
        self.assertIn("--version", self.complete("troupe --"))
        for command in commands:
            if command == "sim":
                continue  # a program of its own
            with self.subTest(command):
                listed = options_of_command(command)
                self.assertIn("--dir" if command == "cluster" else "--uri", listed)
                self.assertEqual(listed - set(self.complete(f"troupe {command} --")), set())
        self.assertEqual(self.complete("troupe tree --up"), [], "an option of another command")


class Manuals(unittest.TestCase):
    def page(self, program):
        """The page as packages have it."""
        if not shutil.which("cmake"):
            self.skipTest("cmake makes the pages")
        with tempfile.TemporaryDirectory() as folder:
            manual, completion = Path(folder) / "manual", Path(folder) / "completion"
            subprocess.run(["cmake", f"-DPROGRAM={BIN / program}", f"-DTEMPLATE={ROOT}/packaging/man/{PAGES[program]}.in", f"-DMANUAL={manual}",
                            f"-DCOMPLETION={completion}", "-P", str(ROOT / "cmake" / "DescribeProgram.cmake")], check=True, timeout=60)
            self.assertEqual(completion.read_text(), told(program, "--bash-completion"))
            return manual.read_text()

    def test_every_option_and_command_is_there(self):
        for program in PAGES:
            with self.subTest(program):
                plain = self.page(program).replace("\\-", "-")
                self.assertNotIn("@OPTIONS@", plain)
                missing = [name for name in options_of(told(program, "--help")) if f"\\fB{name}\\fR" not in plain]
                self.assertEqual(missing, [])
        for command in commands_of("troupe"):
            section = plain.partition(f".SS troupe {command}\n")[2].partition(".SS ")[0]
            self.assertTrue(section, command)
            if command != "sim":
                missing = [name for name in options_of_command(command) if f"\\fB{name}\\fR" not in section]
                self.assertEqual(missing, [], command)

    def test_the_pages_are_well_formed(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for program in PAGES:
            with self.subTest(program):
                done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-c"], input=self.page(program), capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                plain = re.sub(".\\x08", "", done.stdout)  # groff overstrikes what is bold
                self.assertIn("--uri URI" if program == "troupe" else "--port NUMBER", plain)


if __name__ == "__main__":
    unittest.main()
