"""kry inside other packages: each test runs the real one, if it is installed."""
import os
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import poisson, random_matrix

import pykry
from pykry.adapters._kept import Kept

os.environ['FIPY_SOLVERS'] = 'scipy'


# ---- what they share ----

def test_kept_is_set_up_once(monkeypatch):
    made, updated = [], []
    make, update = pykry.Solver.__init__, pykry.Solver.update
    monkeypatch.setattr(pykry.Solver, '__init__', lambda self, *a, **k: made.append(1) or make(self, *a, **k))
    monkeypatch.setattr(pykry.Solver, 'update', lambda self, *a, **k: updated.append(1) or update(self, *a, **k))
    kept, A, b = Kept(method='cg'), poisson(12), np.ones(144)
    for factor, news in (1, (1, 0)), (1, (1, 0)), (2, (1, 1)):
        x, result = kept.solve(factor * A, b)
        assert result and np.allclose(factor * A @ x, b, atol=1e-6) and (len(made), len(updated)) == news
    B = A.copy()
    B.data[:] = 3 * A.data
    kept.solve(B, b)
    B.data[:] = A.data  # a program that writes over its numbers
    x, result = kept.solve(B, b)
    assert np.allclose(A @ x, b, atol=1e-6) and (len(made), len(updated)) == (1, 3)
    x, result = kept.solve(poisson(7), np.ones(49))
    assert result and len(made) == 2


def test_kept_forgets_what_was_refused():
    kept, A, b = Kept(method='cg'), poisson(9), np.ones(81)
    kept.solve(A, b)
    bad = A.copy()
    bad.data[5] = np.nan
    with pytest.raises(pykry.KryError):
        kept.solve(bad, b)
    x, result = kept.solve(A, b)
    assert result and np.allclose(A @ x, b, atol=1e-6)


@pytest.mark.parametrize('complex_', [False, True])
def test_kept_transposed(complex_):
    rng = np.random.default_rng(3)
    A = random_matrix(rng, 60, 'general')
    b = rng.normal(size=(60, 2))
    if complex_:
        A, b = (A * (1 + 0.3j)).tocsr(), b + 1j
        A.data += 0.05j
    x, result = Kept(rtol=1e-10).solve(A, b, transposed=True)
    assert result and np.allclose(A.T @ x, b, atol=1e-7)


# ---- finite elements and volumes ----

def test_skfem():
    skfem = pytest.importorskip('skfem')
    from skfem.models.poisson import laplace, unit_load

    from pykry.adapters.skfem import solver
    basis = skfem.Basis(skfem.MeshTri().refined(5), skfem.ElementTriP2())
    A, b = laplace.assemble(basis), unit_load.assemble(basis)
    direct = skfem.solve(*skfem.condense(A, b, D=basis.get_dofs()))
    kry = solver(precond='amg', rtol=1e-10)
    for factor in 1, 2:
        x = skfem.solve(*skfem.condense(factor * A, b, D=basis.get_dofs()), solver=kry)
        assert np.allclose(factor * x, direct, atol=1e-9 * abs(direct).max())
    with pytest.warns(pykry.ConvergenceWarning):
        skfem.solve(*skfem.condense(A, b, D=basis.get_dofs()), solver=solver(method='cg', precond='none', maxiter=2))


@pytest.mark.parametrize('criterion', ['RHS', 'unscaled', 'initial', 'matrix', 'legacy'])
def test_fipy(criterion):
    fipy = pytest.importorskip('fipy')
    from pykry.adapters.fipy import KrySolver
    from fipy.solvers.scipy import LinearLUSolver

    def steps(solver):
        mesh = fipy.Grid2D(nx=20, ny=20, dx=0.05, dy=0.05)
        phi = fipy.CellVariable(mesh=mesh, value=0.)
        phi.constrain(1., mesh.facesLeft)
        phi.constrain(0., mesh.facesRight)
        eq = fipy.TransientTerm() == fipy.DiffusionTerm(coeff=1. + phi) - fipy.PowerLawConvectionTerm(coeff=(1., 0.5))
        for _ in range(3):
            phi.updateOld() if phi._old is not None else None
            for _ in range(2):
                eq.sweep(var=phi, dt=0.01, solver=solver)
        return phi.value.copy()
    right = steps(LinearLUSolver(tolerance=1e-12))
    solver = KrySolver(tolerance=1e-10, criterion=criterion)
    assert np.allclose(steps(solver), right, atol=1e-7)
    assert solver.convergence.status_name and solver.convergence.iterations >= 0
    with pytest.warns(UserWarning, match='SCIPY_MAXIT'):
        steps(KrySolver(tolerance=1e-12, iterations=1, method='bicgstab', precond='none'))


def test_sfepy(tmp_path, monkeypatch):
    pytest.importorskip('sfepy')
    monkeypatch.chdir(tmp_path)
    from sfepy.base.base import output
    from sfepy.base.conf import ProblemConf
    from sfepy.discrete import Problem

    import pykry.adapters.sfepy  # noqa: F401
    output.set_output(quiet=True)

    def solve(ls):
        from sfepy.discrete.fem.meshio import UserMeshIO
        from sfepy.mesh.mesh_generators import gen_block_mesh
        conf = ProblemConf.from_dict({
            'filename_mesh': UserMeshIO(lambda mesh, mode: gen_block_mesh((2, 1, 1), (9, 5, 5), (0, 0, 0), verbose=False)),
            'regions': {'Omega': 'all', 'Left': ('vertices in (x < -0.99)', 'facet'), 'Right': ('vertices in (x > 0.99)', 'facet')},
            'fields': {'displacement': ('real', 3, 'Omega', 1)},
            'materials': {'solid': ({'D': _stiffness()},), 'load': ({'val': [[0.0], [0.0], [-1.0]]},)},
            'variables': {'u': ('unknown field', 'displacement', 0), 'v': ('test field', 'displacement', 'u')},
            'ebcs': {'fixed': ('Left', {'u.all': 0.0})},
            'integrals': {'i': 2},
            'equations': {'balance': 'dw_lin_elastic.i.Omega(solid.D, v, u) = dw_volume_lvf.i.Omega(load.val, v)'},
            'solvers': {'ls': ls, 'newton': ('nls.newton', {'i_max': 1, 'eps_a': 1e-6})},
        }, sys.modules[__name__], verbose=False)
        return Problem.from_conf(conf).solve(save_results=False, verbose=False).get_state()

    def _stiffness():
        from sfepy.mechanics.matcoefs import stiffness_from_youngpoisson
        return stiffness_from_youngpoisson(3, 100.0, 0.3)
    right = solve(('ls.scipy_direct', {}))
    x = solve(('ls.kry', {'method': 'cg', 'precond': 'amg:block=3', 'eps_r': 1e-10}))
    assert np.allclose(x, right, atol=1e-7 * abs(right).max())


def test_pymatsolver():
    pymatsolver = pytest.importorskip('pymatsolver')
    from pymatsolver.solvers import SolverAccuracyError

    from pykry.adapters.pymatsolver import Kry
    rng = np.random.default_rng(8)
    A = random_matrix(rng, 70, 'general')
    B = rng.normal(size=(70, 3))
    for matrix in A, (A + 0.2j * sp.eye_array(70)).tocsr():
        inverse, direct = Kry(matrix, rtol=1e-11), pymatsolver.Solver(matrix)
        assert np.allclose(inverse @ B, direct @ B, atol=1e-7) and np.allclose(inverse * B[:, 0], direct * B[:, 0], atol=1e-7)
        assert np.allclose(inverse.T @ B, direct.T @ B, atol=1e-7)
        assert np.allclose(inverse.conj() @ B, direct.conj() @ B, atol=1e-7)
    P = poisson(8)
    assert Kry(P, is_positive_definite=True, method='cg', check_accuracy=True).T.is_positive_definite
    with pytest.raises(SolverAccuracyError):
        Kry(P, method='cg', precond='none', maxiter=1) @ rng.normal(size=64)


def test_opensees():
    ops = pytest.importorskip('openseespy.opensees')
    from pykry.adapters.opensees import KrySystem

    def analyse(*system):
        ops.wipe()
        ops.model('basic', '-ndm', 3, '-ndf', 3)
        ops.nDMaterial('ElasticIsotropic', 1, 200e3, 0.3)
        nx, ny, nz = 3, 3, 8

        def tag(i, j, k):
            return 1 + i + (nx + 1) * (j + (ny + 1) * k)
        for i, j, k in np.ndindex(nx + 1, ny + 1, nz + 1):
            ops.node(tag(i, j, k), float(i), float(j), float(k))
        for e, (i, j, k) in enumerate(np.ndindex(nx, ny, nz)):
            low = [tag(i, j, k), tag(i + 1, j, k), tag(i + 1, j + 1, k), tag(i, j + 1, k)]
            ops.element('stdBrick', e + 1, *low, *[t + (nx + 1) * (ny + 1) for t in low], 1)
        for i, j in np.ndindex(nx + 1, ny + 1):
            ops.fix(tag(i, j, 0), 1, 1, 1)
        ops.timeSeries('Linear', 1)
        ops.pattern('Plain', 1, 1)
        for i, j in np.ndindex(nx + 1, ny + 1):
            ops.load(tag(i, j, nz), 1., 0., -2.)
        ops.numberer('RCM')
        ops.constraints('Plain')
        ops.system(*system)
        ops.test('NormUnbalance', 1e-6, 10)
        ops.algorithm('Newton')
        ops.integrator('LoadControl', 0.5)
        ops.analysis('Static', '-noWarnings')
        return ops.analyze(2), np.array(ops.nodeDisp(tag(nx, ny, nz)))

    kry = KrySystem(method='cg', precond='amg:block=3', rtol=1e-11)
    _, right = analyse('UmfPack')
    try:
        ended, tip = analyse('PythonSparse', kry.to_openseespy())
    except Exception:
        ended = None
    if kry.result is None and kry.error is None:
        pytest.skip('this openseespy has no PythonSparse: 3.8 does')
    assert ended == 0 and kry.result and np.allclose(tip, right, rtol=1e-8)
    wrong = KrySystem(method='cg', precond='none', maxiter=1)
    ended, _ = analyse('PythonSparse', wrong.to_openseespy())
    assert ended != 0 and wrong.result.reason == 'iteration_limit'


# ---- gradients ----

def _torch_matrix(torch, layout, seed=5):
    A = random_matrix(np.random.default_rng(seed), 7, 'general').tocsr()
    if layout == 'csr':
        return torch.sparse_csr_tensor(torch.tensor(A.indptr), torch.tensor(A.indices), torch.tensor(A.data), A.shape)
    A = A.tocoo()
    return torch.sparse_coo_tensor(torch.tensor(np.stack([A.row, A.col])), torch.tensor(A.data), A.shape)


@pytest.mark.parametrize('layout', ['csr', 'coo'])
@pytest.mark.parametrize('shape', [(7,), (7, 2), (2, 7, 2)])
def test_torch(layout, shape):
    torch = pytest.importorskip('torch')
    from pykry.adapters.torch import Solver
    A = _torch_matrix(torch, layout)
    kry = Solver(rtol=1e-12)
    b = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    x = kry(A, b)
    assert x.shape == b.shape
    dense = torch.linalg.solve(A.to_dense(), b)
    assert torch.allclose(x, dense, atol=1e-8)

    def of(values, b):
        M = (torch.sparse_csr_tensor(A.crow_indices(), A.col_indices(), values, A.shape) if layout == 'csr' else
             torch.sparse_coo_tensor(A.coalesce().indices(), values, A.shape))
        return kry(M, b)
    other = _torch_matrix(torch, layout, seed=6)  # with entries at other places
    for M in other, 2 * other, A:
        assert torch.allclose(kry(M, b), torch.linalg.solve(M.to_dense(), b), atol=1e-8)
    values = (A if layout == 'csr' else A.coalesce()).values().clone().requires_grad_()
    assert torch.autograd.gradcheck(of, (values, b), atol=1e-5)
    assert torch.autograd.gradgradcheck(of, (values, b), atol=1e-4)


def test_torch_refuses():
    torch = pytest.importorskip('torch')
    from pykry.adapters.torch import solve
    A = _torch_matrix(torch, 'csr')
    with pytest.raises(TypeError, match='layout'):
        solve(A.to_dense(), torch.ones(7, dtype=torch.float64))
    with pytest.raises(TypeError, match='float32'):
        solve(A, torch.ones(7))
    with pytest.raises(ValueError, match='7 unknowns'):
        solve(A, torch.ones(6, dtype=torch.float64))
    with pytest.raises(torch.linalg.LinAlgError, match='not enough'):
        solve(A, torch.ones(7, dtype=torch.float64), method='gmres', precond='none', maxiter=1)
    single = solve(A.float(), torch.ones(7), rtol=1e-5)
    assert single.dtype == torch.float32 and torch.allclose(A.float() @ single, torch.ones(7), atol=1e-3)


def test_jax():
    jax = pytest.importorskip('jax')
    jax.config.update('jax_enable_x64', True)
    from jax import numpy as jnp
    from jax.experimental import sparse
    from jax.test_util import check_grads

    from pykry.adapters.jax import Solver, solve
    S = random_matrix(np.random.default_rng(4), 8, 'general')
    A = sparse.BCOO.from_scipy_sparse(S)
    kry = Solver(rtol=1e-12)
    rng = np.random.default_rng(6)
    for shape in (8,), (2, 8, 2):
        b = jnp.asarray(rng.normal(size=shape))
        right = jnp.linalg.solve(A.todense(), b)
        assert jnp.allclose(kry(A, b), right, atol=1e-8)
        assert jnp.allclose(jax.jit(kry)(A, b), right, atol=1e-8)
        check_grads(lambda data, b: kry(sparse.BCOO((data, A.indices), shape=A.shape), b), (A.data, b), order=2, modes=['rev'],
                    atol=1e-4, rtol=1e-4)
    b = jnp.ones(8)
    assert jnp.allclose(solve(sparse.BCSR.from_bcoo(A.sort_indices()), b), right_of(A, b), atol=1e-6)
    padded = sparse.BCOO.fromdense(A.todense(), nse=A.nse + 5)  # with entries outside
    gradient = jax.grad(lambda data: kry(sparse.BCOO((data, padded.indices), shape=padded.shape), b).sum())(padded.data)
    assert jnp.allclose(kry(padded, b), right_of(A, b), atol=1e-8) and not gradient[-5:].any() and gradient[:-5].any()
    assert jnp.allclose(jax.vmap(lambda v: kry(A, v))(jnp.eye(8)), jnp.linalg.inv(A.todense()).T, atol=1e-8)
    with pytest.raises(TypeError, match='float32'):
        solve(A, b.astype(jnp.float32))
    with pytest.raises(ValueError, match='8 unknowns'):
        solve(A, jnp.ones(7))
    with pytest.raises(TypeError, match='BCOO'):
        solve(A.todense(), b)


def right_of(A, b):
    return np.linalg.solve(np.asarray(A.todense()), np.asarray(b))
