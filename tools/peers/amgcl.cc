/*
 * amgcl.cc - the time that smoothed aggregation with CG, or BiCGSTAB, of amgcl takes: on a GPU as CUDA, on the host as C++. README.md
 * says how to run it.
 *
 *     ./amgcl PROBLEM
 */
#include "peer.h"
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#ifdef __CUDACC__
#include <amgcl/backend/cuda.hpp>
#else
#include <amgcl/backend/builtin.hpp>
#endif
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#ifdef __CUDACC__
typedef amgcl::backend::cuda<double> Backend;
typedef thrust::device_vector<double> Vector;
static const char *name = "amgcl, CUDA";
static void wait_for_device() { cudaDeviceSynchronize(); }
#else
typedef amgcl::backend::builtin<double> Backend;
typedef std::vector<double> Vector;
static const char *name = "amgcl, host";
static void wait_for_device() {}
#endif

typedef amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0> Amg;

/* The solver, and what it works on. */
template <class Krylov> struct Driver {
    typedef amgcl::make_solver<Amg, Krylov> Solver;
    static std::unique_ptr<Solver> solver;
    static Backend::params backend;
    static Vector b, x;

    static auto matrix(const peer_system *s)
    {
        const kry_problem *p = s->p;
        return std::make_tuple((size_t)p->n,
                               amgcl::make_iterator_range(p->row_ptr, p->row_ptr + p->n + 1),
                               amgcl::make_iterator_range(p->col, p->col + p->nnz),
                               amgcl::make_iterator_range(p->val, p->val + p->nnz));
    }
    static void store(const peer_system *s)
    {
        b = Vector(s->b, s->b + s->p->n);
        x = Vector((size_t)s->p->n, 0.0);
    }
    static void setup(const peer_system *s)
    {
        typename Solver::params words;
        words.solver.tol = 1e-8;
        words.solver.maxiter = 5000;
        words.precond.allow_rebuild = true;
        if (s->modes) {
            auto &of = words.precond.coarsening.nullspace;
            words.precond.coarsening.aggr.block_size = (unsigned)s->p->axes;
            of.cols = s->mode_count;
            of.B.resize((size_t)(s->p->n * of.cols));
            for (int64_t i = 0; i < s->p->n; i++)
                for (int k = 0; k < of.cols; k++)
                    of.B[(size_t)(i * of.cols + k)] = s->modes[k * s->p->n + i];
        }
        solver.reset(new Solver(matrix(s), words, backend));
        wait_for_device();
    }
    static void renumber(const peer_system *) {}
    static void update(const peer_system *s)
    {
        solver->precond().rebuild(matrix(s), backend);
        wait_for_device();
    }
    static void start()
    {
        amgcl::backend::clear(x);
        wait_for_device();
    }
    static int solve()
    {
        const auto said = (*solver)(b, x);
        wait_for_device();
        return (int)std::get<0>(said);
    }
    static void read(double *host)
    {
#ifdef __CUDACC__
        thrust::copy(x.begin(), x.end(), host);
#else
        std::copy(x.begin(), x.end(), host);
#endif
    }
    static void release() { solver.reset(); }
    static void measure(const char *spec)
    {
        const peer q = { store, setup, renumber, update, start, solve, read, release };
#ifdef __CUDACC__
        cusparseCreate(&backend.cusparse_handle);
#endif
        peer_measure(spec, name, &q);
    }
};
template <class Krylov> std::unique_ptr<typename Driver<Krylov>::Solver> Driver<Krylov>::solver;
template <class Krylov> Backend::params Driver<Krylov>::backend;
template <class Krylov> Vector Driver<Krylov>::b;
template <class Krylov> Vector Driver<Krylov>::x;

int main(int argc, char **argv)
{
    kry_problem *p = nullptr;

    if (argc != 2) peer_fail("amgcl PROBLEM");
    peer_check(kry_problem_create_bare(argv[1], 1, &p));
    const bool positive = (p->traits & KRY_POSITIVE) != 0;
    kry_problem_release(&p);
    if (positive)
        Driver<amgcl::solver::cg<Backend>>::measure(argv[1]);
    else
        Driver<amgcl::solver::bicgstab<Backend>>::measure(argv[1]);
    return 0;
}
