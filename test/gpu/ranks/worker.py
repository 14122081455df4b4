"""One rank of a run of several processes: runs every program and keeps its value. `worker.py FOLDER`."""

import pathlib
import sys

import numpy as np
import tandem

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import programs

team = tandem.init()
results = {program.__name__: program(team) for program in programs.PROGRAMS}
np.savez(pathlib.Path(sys.argv[1]) / f"{team.rank}.npz", **results)
