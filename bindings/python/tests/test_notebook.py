"""docs/examples/pykry.ipynb: its cells run from top to bottom, by Jupyter where there is nbclient, else in this process."""
import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[3] / 'docs' / 'examples' / 'pykry.ipynb'


def run_here(cells):
    """The code of the cells in one namespace, as a kernel has it."""
    names = {'__name__': '__main__'}
    for i, cell in enumerate(cells):
        exec(compile(''.join(cell['source']), f'cell {i} of {NOTEBOOK.name}', 'exec'), names)


def test_cells_of_the_notebook():
    if not NOTEBOOK.exists():
        pytest.skip('the notebook is not here: the package is installed alone')
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())['cells'] if cell['cell_type'] == 'code']
    assert len(cells) > 5
    try:
        import nbclient
        import nbformat
    except ImportError:
        run_here(cells)
    else:
        nbclient.NotebookClient(nbformat.read(NOTEBOOK, as_version=4), timeout=120).execute()
