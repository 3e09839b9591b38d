"""pytorch.py POINTS DEVICE [WORDS] - the time that a solve in PyTorch takes, with gradients by b and the numbers of A, or kry in its place.

README.md says which problem, and how to run it. PyTorch has no sparse iterative solver: what is measured beside kry is what people
write, conjugate gradients of its own operations with the diagonal as preconditioner, whose gradient by b takes a second solve.
"""
import sys
import time

import torch


def laplace(n, device):
    """-Δ on n^3 points as a sparse tensor in COO, the layout through which PyTorch lets gradients of the numbers stay sparse."""
    i = torch.arange(n ** 3, device=device)
    rows, cols, vals = [i], [i], [torch.full((n ** 3,), 6.0, dtype=torch.float64, device=device)]
    for step in (1, n, n * n):
        low = i[(i // step) % n > 0]
        for r, c in ((low, low - step), (low - step, low)):
            rows.append(r)
            cols.append(c)
            vals.append(torch.full_like(r, -1, dtype=torch.float64))
    A = torch.sparse_coo_tensor(torch.stack([torch.cat(rows), torch.cat(cols)]), torch.cat(vals), (n ** 3, n ** 3))
    return A.coalesce()


def conjugate_gradients(A, b, diagonal, rtol=1e-8):
    x, r = torch.zeros_like(b), b.clone()
    z = r / diagonal
    p, rz, limit, iterations = z.clone(), r @ z, rtol * b.norm(), 0
    while r.norm() > limit:
        q = A @ p
        alpha = rz / (p @ q)
        x += alpha * p
        r -= alpha * q
        z = r / diagonal
        rz, old = r @ z, rz
        p = z + rz / old * p
        iterations += 1
    return x, iterations


class ByHand(torch.autograd.Function):
    """x with A x = b for a symmetric A."""

    @staticmethod
    def forward(ctx, values, b, places):
        ctx.places, n = places, len(b)
        ctx.A = torch.sparse_coo_tensor(places, values, (n, n), is_coalesced=True).to_sparse_csr()  # whose products are fast
        x, ByHand.iterations = conjugate_gradients(ctx.A, b, 6)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        y, _ = conjugate_gradients(ctx.A, g, 6)
        rows, cols = ctx.places
        return -y[rows] * x[cols], y, None


def main():
    n, device = int(sys.argv[1]), sys.argv[2]
    words = dict(word.split('=') for word in ' '.join(sys.argv[3:]).split())
    A = laplace(n, device)
    i = torch.arange(n ** 3, device=device)
    b = (((i * 2654435761) % 2 ** 32 >> 8) / 8388608.0 - 1).to(torch.float64).requires_grad_()
    values = A.values().clone().requires_grad_()
    if words:
        from pykry.adapters.torch import Solver
        kry = Solver(rtol=1e-8, **words)
    for again in range(3):
        scaled = values * (1 + again)
        M = torch.sparse_coo_tensor(A.indices(), scaled, A.shape, is_coalesced=True)
        torch.cuda.synchronize() if device == 'cuda' else None
        begin = time.perf_counter()
        x = kry(M, b) if words else ByHand.apply(scaled, b, A.indices())
        torch.cuda.synchronize() if device == 'cuda' else None
        solved = time.perf_counter()
        (x @ x).backward()
        torch.cuda.synchronize() if device == 'cuda' else None
        end = time.perf_counter()
        residual = float((b - M @ x).norm() / b.norm())
        print(f'{n} {" ".join(sys.argv[3:]) or "by hand"}, {device}, time {again + 1}: solve {solved - begin:.4f} s, gradients '
              f'{end - solved:.4f} s, residual {residual:.1e}' + ('' if words else f', {ByHand.iterations} iterations'))


main()
