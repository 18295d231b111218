"""Four drivers at their defaults write while members are killed, frozen, told to step down, not heard and full (failovers/)."""
import unittest

from failovers.faults import KINDS
from failovers.run import Run

FAILOVERS = ("kill", "freeze", "step down", "black hole", "kill both", "full secondary")


class Failovers(unittest.TestCase):
    def test_what_drivers_were_told_is_true(self):
        self.assertLessEqual(set(FAILOVERS), set(KINDS))
        with Run() as run:
            for kind in FAILOVERS:
                run.fail_over(kind)
            complaints = run.complaints()
            if complaints:
                run.keep()
            self.assertFalse(complaints, "\n".join([*complaints, run.table()]))
            print("      " + run.table().replace("\n", "\n      "), flush=True)


if __name__ == "__main__":
    unittest.main()
