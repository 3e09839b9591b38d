"""kry inside packages that are there already: each module is for one of them, and imports it.

`skfem` (scikit-fem), `fipy`, `sfepy`, `pymatsolver` (SimPEG), `opensees`, `torch`, `jax`. docs/other-programs.md shows each.
"""
