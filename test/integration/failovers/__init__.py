"""Drivers at their defaults under failovers of real processes.

Four programs, each with another driver and nothing set, write to a set of three while its members are killed, frozen, told to step down, stopped, have
no room on their disks, or no longer hear each other, time and again. Each records what its driver said of every write (writers.py). Afterwards a judge
(history.py) compares these records with what the members hold. Beside them PyMongo appends to lists and reads them (lists.py); the checker of lists judges that history. `replica_failovers_test.py` makes a few failovers, `run.sh --failovers 100` many, and prints a table.
"""
