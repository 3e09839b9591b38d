"""The page that is made of docstrings is that of today's."""
import difflib
import pathlib

import pytest
import reference

import pykry

PAGE = pathlib.Path(__file__).parents[3] / 'docs' / 'reference' / 'pykry.md'


@pytest.mark.skipif(not PAGE.exists(), reason='the tests are not in the source tree')
def test_the_page_is_made_of_the_docstrings_of_today():
    there, now = PAGE.read_text().splitlines(), reference.page().splitlines()
    apart = list(difflib.unified_diff(there, now, 'docs/reference/pykry.md', 'docstrings', lineterm=''))
    assert not apart, f'PYTHONPATH=build/python python3 python/tests/reference.py {PAGE}\n' + '\n'.join(apart[:40])


def test_every_name_has_a_docstring_and_an_entry():
    page = reference.page()
    for title, module in (('pykry', pykry), ('pykry.scipy', pykry.scipy), ('pykry.ranks', pykry.ranks), ('pykry.batch', pykry.batch)):
        for name in module.__all__:
            if name not in ('batch', 'ranks', 'scipy'):
                assert getattr(module, name).__doc__ and f'### `{title}.{name}`' in page, name
