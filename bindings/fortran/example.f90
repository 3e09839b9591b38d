! example.f90 - one implicit step of diffusion, (I + t L) x = b, on a plate of 200 by 200 points.
!
!     gfortran example.f90 $(pkg-config --cflags --libs kry-fortran) -o example && ./example
program example
  use kry
  implicit none
  integer, parameter :: side = 200, n = side * side
  double precision, parameter :: t = 1000
  integer :: row_ptr(n + 1), col(5 * n), status
  double precision :: val(5 * n), b(n), x(n)
  type(kry_device) :: device
  type(kry_op) :: A, M, solver
  type(kry_result) :: result

  call make_plate()
  b = 0
  b(n / 2 + side / 2) = 1
  x = 0

  call kry_check(kry_device_open(device))
  call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, kry_matrix_params(traits=ior(KRY_SYMMETRIC, KRY_POSITIVE))))
  call kry_check(kry_amg_create(A, M))
  call kry_check(kry_pcg_create(A, solver, kry_pcg_params(precond=M, stop=kry_stop(rtol=1d-10))))
  status = kry_solve_host(solver, b, x, result)
  if (status < 0) call kry_check(status) ! kry refused, or failed
  print "(3a,i0,a)", "kry: ", kry_reason_word(result%reason), ", ", result%iterations, " iterations"
  print "(a,f8.6)", "heat on the plate: ", sum(x)

  call kry_op_release(solver)
  call kry_op_release(M)
  call kry_op_release(A)
  call kry_device_release(device)
contains
  ! Rows one behind the other, in arrays that count from 1.
  subroutine make_plate()
    integer :: i, j, row, next
    next = 1
    do j = 1, side
      do i = 1, side
        row = i + side * (j - 1)
        row_ptr(row) = next
        call add(next, row, 1 + t * count([i > 1, i < side, j > 1, j < side]))
        if (j > 1) call add(next, row - side, -t)
        if (i > 1) call add(next, row - 1, -t)
        if (i < side) call add(next, row + 1, -t)
        if (j < side) call add(next, row + side, -t)
      end do
    end do
    row_ptr(n + 1) = next
  end subroutine

  subroutine add(next, column, value)
    integer, intent(inout) :: next
    integer, intent(in) :: column
    double precision, intent(in) :: value
    col(next) = column
    val(next) = value
    next = next + 1
  end subroutine
end program
