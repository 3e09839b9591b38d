! test_ranks.f90 - the module kry on MPI ranks: each has some rows of the second difference. Speaks TAP, on rank 0.
program test_ranks
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use kry
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 300
  type(kry_device) :: device, team
  type(kry_op) :: A, solver
  type(kry_vec) :: b, x
  integer(int64) :: first, all_rows, at
  integer :: rank, ranks, level, error, rows, i, status, entries, number = 0
  integer, allocatable :: row_ptr(:), col(:), columns(:)
  integer(int64), allocatable :: pointers(:)
  real(real64), allocatable :: val(:), u(:), f(:), values(:)

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call kry_check(kry_device_open(device))
  call kry_check(kry_team_of_mpi(MPI_COMM_WORLD, device, team, kry_team_params(timeout=60d0)))
  rows = n / ranks + merge(n - n / ranks * ranks, 0, rank == ranks - 1)
  call kry_check(kry_team_rows(team, rows, first, all_rows))
  call ok("rows of ranks count from 1", first == 1 + rank * (n / ranks) .and. all_rows == n)

  allocate(row_ptr(rows + 1), col(3 * rows), val(3 * rows), u(rows), f(rows))
  entries = 0
  do i = 1, rows
    row_ptr(i) = entries + 1
    at = first + i - 1
    if (at > 1) call add(at - 1, -1d0)
    call add(at, 2d0)
    if (at < n) call add(at + 1, -1d0)
    f(i) = merge(1d0, 0d0, at == n) * (n + 1) ! the solution is i
  end do
  row_ptr(rows + 1) = entries + 1
  status = kry_csr_create_rows(team, int(first), rows, row_ptr, col, val, A, &
      kry_matrix_params(traits=ior(KRY_SYMMETRIC, KRY_POSITIVE)))
  call ok("a matrix of which each rank has rows", status == KRY_OK)
  call kry_check(kry_solver_create(A, "method=pcg precond=jacobi rtol=1e-10 maxit=2000", solver))
  call kry_check(kry_vec_create(team, KRY_F64, n, 1, b))
  call kry_check(kry_vec_create(team, KRY_F64, n, 1, x))
  call kry_check(kry_vec_write(b, f))
  status = kry_solve(solver, b, x)
  call kry_check(kry_vec_read(x, u))
  call ok("a solve", status == KRY_OK .and. maxval(abs(u - [(first + i - 1, i = 1, rows)])) < 1d-4)
  call ok("vectors have rows of ranks", kry_vec_rows_here(x, at) == rows .and. at == first)
  u = 0
  status = kry_solve_host(solver, f, u)
  call ok("a solve with numbers of the host", status == KRY_OK .and. maxval(abs(u - [(first + i - 1, i = 1, rows)])) < 1d-4)
  allocate(pointers(rows + 1), columns(entries), values(entries))
  status = kry_matrix_read(A, pointers, columns, values)
  call ok("entries of ranks come back", status == KRY_OK .and. all(pointers == row_ptr) .and. all(columns == col(:entries)))
  call ok("arrays too short are refused on all ranks", kry_vec_read(x, u(2:)) == KRY_ERR_SHAPE)

  call kry_vec_release(b)
  call kry_vec_release(x)
  call kry_op_release(solver)
  call kry_op_release(A)
  call kry_device_release(team)
  call kry_device_release(device)
  if (rank == 0) print "(a,i0)", "1..", number
  call MPI_Finalize(error)
contains
  ! Whether it is so on all ranks.
  subroutine ok(what, good)
    character(len=*), intent(in) :: what
    logical, intent(in) :: good
    logical :: everywhere
    call MPI_Allreduce(good, everywhere, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    number = number + 1
    if (rank == 0) print "(a,i0,2a)", trim(merge("ok    ", "not ok", everywhere))//" ", number, " - ", what
    if (.not. good) print "(a,i0,2a)", "# rank ", rank, ": ", kry_last_error()
  end subroutine

  subroutine add(column, value)
    integer(int64), intent(in) :: column
    real(real64), intent(in) :: value
    entries = entries + 1
    col(entries) = int(column)
    val(entries) = value
  end subroutine
end program
