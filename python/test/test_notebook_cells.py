"""Errors of kernels that a notebook's cells define name the cell, as IPython's own do."""

import sys
import types

import pytest
import tandem

FILE = "/tmp/ipykernel_7/1234.py"


@pytest.fixture
def notebook(monkeypatch):
    names = types.SimpleNamespace(format_code_name=lambda file: ("Cell", "In[3]") if file == FILE else None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(compile=names)))


TEXT = f"{FILE}:5:9: error: no such name\n    x = y\n        ^\n/home/me/k.py:2:1: note: called here"


def test_a_compile_error_names_the_cell(notebook):
    assert str(tandem.CompileError(TEXT)) == TEXT.replace(FILE, "Cell In[3]")


def test_a_report_names_the_cell(notebook):
    error = tandem.SimulationError([{"severity": "error", "text": TEXT}])
    assert str(error) == "\n" + TEXT.replace(FILE, "Cell In[3]")


def test_outside_of_a_notebook_files_stay():
    assert str(tandem.CompileError(TEXT)) == TEXT
