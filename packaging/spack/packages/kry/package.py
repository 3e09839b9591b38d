# Recipe for Spack: `spack repo add packaging/spack` in the folder of the sources lets Spack know of it. With the address
# of a repository in `git`, `spack install kry` builds its branch main; `spack dev-build kry@main` builds a folder.
try:  # Spack 1.0 and later keep the build systems with the packages
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:
    pass

from spack.package import *


class Kry(MesonPackage):
    """Sparse Krylov solvers on OpenCL: large sparse systems A x = b on GPUs and, through PoCL, on CPUs."""

    git = "https://example.org/kry.git"  # a placeholder

    license("Apache-2.0", when="~gpl")
    license("GPL-3.0-or-later", when="+gpl")

    version("main", branch="main")

    variant("clblast", default=False, description="Dense products on the device by CLBlast")
    variant("cholmod", default=True, description="Sparse factors of symmetric matrices by CHOLMOD, simplicial without +gpl")
    variant("fortran", default=False, description="The module kry for programs in Fortran")
    variant("gpl", default=False, description="UMFPACK and CHOLMOD's supernodal factors, which are under the GPL")
    variant("host", default=False, description="Kernels for processors, compiled by clang")
    variant("klu", default=True, description="Sparse LU factors by KLU")
    variant("metis", default=True, description="Sub-domains of any matrix by METIS")
    variant("mpi", default=False, description="The program kry runs on MPI ranks; the library needs no MPI")
    variant("petsc", default=False, description="libkrypetsc.so, which programs of PETSc load")
    variant("python", default=False, description="The Python package pykry")
    variant("tests", default=False, description="Build the suite")

    depends_on("c", type="build")
    depends_on("fortran", when="+fortran", type="build")
    depends_on("py-pycparser", when="+fortran", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("opencl@1.2:")  # its headers, too
    depends_on("zlib-api")
    depends_on("clblast", when="+clblast")
    depends_on("suite-sparse", when="+cholmod")
    depends_on("suite-sparse", when="+gpl")
    depends_on("suite-sparse", when="+klu")
    depends_on("llvm@14: +clang", when="+host", type="build")
    depends_on("metis@5:", when="+metis")
    depends_on("mpi", when="+mpi")
    depends_on("mpi", when="+petsc")
    depends_on("petsc@3.18: +mpi ~complex", when="+petsc")
    depends_on("cmocka", when="+tests")
    extends("python", when="+python")
    depends_on("py-cffi@1.15:", when="+python", type=("build", "run"))
    depends_on("py-numpy@1.23:", when="+python", type="run")
    depends_on("py-scipy@1.10:", when="+python", type="run")

    def meson_args(self):
        def feature(name, wanted):
            return f"-D{name}={'enabled' if wanted else 'disabled'}"

        have = self.spec.satisfies
        return [
            feature("clblast", have("+clblast")),
            feature("cholmod", have("+cholmod")),
            feature("fortran", have("+fortran")),
            feature("klu", have("+klu")),
            feature("umfpack", have("+gpl")),
            f"-Dgpl={'true' if have('+gpl') else 'false'}",
            feature("metis", have("+metis")),
            f"-Dhost_kernels={'this' if have('+host') else 'none'}",
            feature("mpi", have("+mpi")),
            feature("petsc", have("+petsc")),
            feature("python", have("+python")),
            f"-Dtests={'true' if have('+tests') else 'false'}",
            "-Dtools=true",
            "-Dexamples=false",
        ]
