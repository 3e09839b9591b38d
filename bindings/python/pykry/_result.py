"""What a solve did."""
import dataclasses
import html
import math
from typing import Any, Dict, Tuple

import numpy as np

from ._library import ffi, lib, text


@dataclasses.dataclass(frozen=True)
class Column:
    """What became of one of several right-hand sides; fields as in `Result`."""

    reason: str
    iterations: int
    norm_b: float
    target: float
    residual: float
    true_residual: float


@dataclasses.dataclass
class Result:
    """What a solve did. It is true if the true residual met the target.

    Residuals are 2-norms in units of b. Of several right-hand sides it is the result of the worst one.

    Attributes
    ----------
    converged : bool
        Whether ``b - A @ x``, computed afresh from the x that was returned, meets the target.
    reason : str
        Why the solve ended: "converged", "iteration_limit", "indefinite_matrix", ...
    why : str
        One sentence with the value that decided.
    iterations : int
    norm_b, target : float
        The norm of b, and what the true residual had to meet.
    residual, true_residual : float
        As the recurrence carried it, and as it is.
    setup_seconds, solve_seconds, compile_seconds : float
        To make the solver; this solve; and, in neither, compiling kernels or loading compiled ones.
    bytes : float
        That the iterations moved, by kry's model; 0: not known.
    device, matrix : str
        The device's name; the matrix's format and kernels.
    chosen : str
        What ``method="auto"`` chose, and why; "" otherwise.
    row_span, column_span : float
        Where rows and columns were scaled (``equilibrate``): the largest norm of a row over the least, and that of
        columns; 0: A was taken as it is.
    columns : tuple of Column
        Of several right-hand sides what became of each.
    history : numpy.ndarray
        The residual of the recurrence at iteration 0, 1, ...
    """

    converged: bool
    reason: str
    why: str
    iterations: int
    norm_b: float
    target: float
    residual: float
    true_residual: float
    setup_seconds: float
    solve_seconds: float
    compile_seconds: float
    bytes: float
    device: str
    matrix: str
    chosen: str
    row_span: float
    column_span: float
    columns: Tuple[Column, ...] = dataclasses.field(repr=False)
    history: np.ndarray = dataclasses.field(repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.converged

    def row(self) -> Dict[str, Any]:
        """The numbers and words as a dict, a row for ``pandas.DataFrame([r.row() for r in results])``."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ('columns', 'history')}

    def _repr_html_(self) -> str:
        """A table, and the convergence as a picture."""
        cells = ''.join(f'<tr><th style="text-align:left">{html.escape(name)}</th><td style="text-align:left">'
                        f'{html.escape(_short(value))}</td></tr>' for name, value in self.row().items())
        return f'<div style="display:flex;gap:1em;flex-wrap:wrap"><table>{cells}</table>{self._plot()}</div>'

    def _plot(self):
        """The relative residuals on a logarithmic axis as an SVG picture; "" where there is nothing to draw."""
        scale = self.norm_b if self.norm_b > 0 else 1.0
        seen = self.history[np.isfinite(self.history)]
        if len(seen) < 2 or not (seen > 0).any():
            return ''
        least = seen[seen > 0].min()
        y = np.log10(np.maximum(seen, least) / scale)
        target = math.log10(self.target / scale) if self.target > 0 else y.min()
        low, high = math.floor(min(y.min(), target)), math.ceil(max(y.max(), target))
        high = max(high, low + 1)

        def place(i, value):
            return f'{50 + 420 * i / (len(y) - 1):.1f},{10 + 150 * (high - value) / (high - low):.1f}'

        step = max(1, len(y) // 500)
        points = ' '.join(place(i, y[i]) for i in [*range(0, len(y) - 1, step), len(y) - 1])
        lines = ''.join(
            f'<text x="44" y="{14 + 150 * (high - e) / (high - low):.1f}" text-anchor="end">1e{e}</text>'
            for e in range(low, high + 1, max(1, (high - low) // 5)))
        ends = place(0, target), place(len(y) - 1, target)
        return ('<svg width="490" height="190" font-size="11" fill="currentColor" role="img" '
                f'aria-label="relative residual over {self.iterations} iterations">{lines}'
                f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/>'
                f'<polyline points="{ends[0]} {ends[1]}" fill="none" stroke="#d55e00" stroke-dasharray="5 4"/>'
                f'<text x="50" y="180">0</text><text x="470" y="180" text-anchor="end">{self.iterations} iterations'
                '</text></svg>')


def _short(value):
    return f'{value:.4g}' if isinstance(value, float) else str(value)


_words = {i: text(lib.kry_reason_word(i)) for i in range(lib.KRY_ILL_CONDITIONED + 1)}


def result_of(r, status, device, matrix):
    """A `Result` of a kry_result, whose history it copies."""
    history = np.frombuffer(ffi.buffer(r.history, 8 * r.history_count)).copy() if r.history_count else np.empty(0)
    columns = tuple(Column(_words[c.reason], c.iterations, c.norm_b, c.target, c.residual, c.true_residual)
                    for c in (r.column[i] for i in range(r.columns)))
    return Result(status == 0 and r.reason != lib.KRY_ITERATIONS_DONE, _words[r.reason], text(r.why), r.iterations,
                  r.norm_b, r.target, r.residual, r.true_residual, r.setup_seconds, r.solve_seconds, r.compile_seconds, r.bytes,
                  device, matrix, text(r.chosen), r.row_span, r.column_span, columns,
                  history)
