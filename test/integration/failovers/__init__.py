"""Drivers at their defaults under failovers of real processes.

Four programs, each with another driver and nothing set, write to a set of three while its primary is killed, frozen, told to step down or
stopped, time and again. Each records what its driver said of every write (writers.py). Afterwards a judge (history.py) compares these records
with what the members hold. `replica_failovers_test.py` makes a few failovers, `run.sh --failovers 100` many, and prints a table.
"""
