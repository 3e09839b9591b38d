"""The kind 'ls.kry' of linear solvers for SfePy, which importing this module registers.

    import pykry.adapters.sfepy
    solvers = {'ls': ('ls.kry', {'precond': 'amg', 'eps_r': 1e-10}), 'newton': ('nls.newton', {})}
"""
from sfepy.base.base import get_default, output
from sfepy.solvers import register_solver
from sfepy.solvers.ls import LinearSolver, standard_call

from ._kept import Kept

__all__ = ['KrySolver']


class KrySolver(LinearSolver):
    """kry's solvers. A solve ends when the true residual is at most max(eps_a, eps_r |b|)."""
    name = 'ls.kry'
    _parameters = [
        ('method', 'str', 'auto', False, 'The method: "auto", "cg", "bicgstab", "gmres", "direct", ...'),
        ('precond', 'str', 'auto', False, 'The preconditioner: "auto", "amg", "jacobi", "none", ...'),
        ('i_max', 'int', None, False, 'The most iterations; None: as many as kry takes.'),
        ('eps_a', 'float', 0.0, False, 'The absolute tolerance for the residual.'),
        ('eps_r', 'float', 1e-8, False, 'The tolerance for the residual relative to the right-hand side.'),
        ('*', '*', None, False, 'Other words of pykry.Solver.'),
    ]

    def __init__(self, conf, context=None, **kwargs):
        LinearSolver.__init__(self, conf, context=context, **kwargs)
        self._kept = Kept(method=self.conf.method, precond=self.conf.precond, **self.build_solver_kwargs(self.conf))

    @standard_call
    def __call__(self, rhs, x0=None, conf=None, eps_a=None, eps_r=None, i_max=None, mtx=None, status=None, context=None,
                 **kwargs):
        stop = dict(rtol=get_default(eps_r, conf.eps_r), atol=get_default(eps_a, conf.eps_a),
                    maxiter=get_default(i_max, conf.i_max))
        x, result = self._kept.solve(mtx, rhs, x0, stop=stop)
        output(f'{conf.name}: {result.reason}, {result.iterations} iterations, |b - A x| = {result.true_residual:.3e}',
               verbose=conf.verbose or not result)
        return x, result.iterations


register_solver(KrySolver)
