! test_fortran.f90 - the module kry, on the Poisson matrix of a small square. Speaks TAP.

! A solve ends at its third look at the residual; `user` is the number of looks.
function stop_after_two(user, it) bind(c) result(returned)
  use, intrinsic :: iso_c_binding
  use kry
  implicit none
  type(c_ptr), value :: user
  type(kry_iteration), intent(in) :: it
  integer(c_int) :: returned
  integer, pointer :: looks
  call c_f_pointer(user, looks)
  looks = looks + 1
  returned = merge(1, 0, it%iteration >= 2)
end function

! An operator of the caller's own, y := 2 alpha x + beta y.
function twice_apply(self, alpha, x, beta, y) bind(c) result(returned)
  use, intrinsic :: iso_c_binding
  use kry
  implicit none
  type(c_ptr), value :: self, x, y
  real(c_double), value :: alpha, beta
  integer(c_int) :: returned
  if (c_associated(self)) then
    returned = kry_fail(KRY_ERR_CALLBACK, "100% of it")
  else
    returned = kry_vec_axpby(2 * alpha, kry_vec(x), beta, kry_vec(y))
  end if
end function

program test_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use kry
  use layout, only: layout_differs
  implicit none
  integer, parameter :: side = 12, n = side * side
  integer :: row_ptr(n + 1), col(5 * n), entries, status, number = 0
  real(real64) :: val(5 * n), u(n), b(n), x(n)
  type(kry_device) :: device
  type(kry_matrix_params) :: spd
  character(len=*), parameter :: path = "test_fortran.mtx"

  call make_square()
  spd%traits = ior(KRY_SYMMETRIC, KRY_POSITIVE)
  call kry_check(kry_device_open(device))
  call ok("structs lie in memory as C's", .not. layout_differs())
  call strings()
  call solve()
  call single_with_wide_integers()
  call new_values()
  call mixed_precision()
  call several_right_hand_sides()
  call grid()
  call least_squares()
  call errors()
  call indices()
  call entries_come_back()
  call dense()
  call monitor()
  call own_operator()
  call files()
  call kry_device_release(device)
  call ok("what is released is NULL", .not. c_associated(device%ptr))
  print "(a,i0)", "1..", number
contains
  subroutine ok(what, good)
    character(len=*), intent(in) :: what
    logical, intent(in) :: good
    number = number + 1
    print "(a,i0,2a)", trim(merge("ok    ", "not ok", good))//" ", number, " - ", what
    if (.not. good) print "(2a)", "# ", kry_last_error()
  end subroutine

  ! Whether kry refused with this status and a message that has `words`.
  logical function refused(status, wanted, words)
    integer, intent(in) :: status, wanted
    character(len=*), intent(in) :: words
    refused = status == wanted .and. index(kry_last_error(), words) > 0
    if (.not. refused) print "(a,i0,2a)", "# ", status, ": ", kry_last_error()
  end function

  ! The five-point matrix, and b = A u.
  subroutine make_square()
    integer :: i, j, row
    entries = 0
    do j = 1, side
      do i = 1, side
        row = i + side * (j - 1)
        row_ptr(row) = entries + 1
        call add(row, 4d0)
        if (j > 1) call add(row - side, -1d0)
        if (i > 1) call add(row - 1, -1d0)
        if (i < side) call add(row + 1, -1d0)
        if (j < side) call add(row + side, -1d0)
        u(row) = sin(real(row, real64))
      end do
    end do
    row_ptr(n + 1) = entries + 1
    b = times(u)
  end subroutine

  subroutine add(column, value)
    integer, intent(in) :: column
    real(real64), intent(in) :: value
    entries = entries + 1
    col(entries) = column
    val(entries) = value
  end subroutine

  function times(v)
    real(real64), intent(in) :: v(n)
    real(real64) :: times(n)
    integer :: row, e
    times = 0
    do row = 1, n
      do e = row_ptr(row), row_ptr(row + 1) - 1
        times(row) = times(row) + val(e) * v(col(e))
      end do
    end do
  end function

  subroutine strings()
    type(kry_device_info), pointer :: info
    type(kry_device_info), allocatable :: all(:)
    type(kry_matrix_params) :: params
    type(kry_deflation_params) :: deflation
    character(len=64), target :: room
    call ok("text of a status", kry_status_text(KRY_ERR_SHAPE) == "sizes do not agree")
    call ok("the version", index(kry_version(), ".") > 0)
    info => kry_device_get_info(device)
    call ok("names in structs", len_trim(kry_text(info%name)) > 0 .and. index(kry_text(info%name), c_null_char) == 0)
    call ok("addresses of text", kry_text(info%kind) /= "" .and. kry_text(c_null_ptr) == "")
    status = kry_device_list(all)
    call ok("a list of devices", (status == KRY_OK .and. size(all) > 0) .or. (status < 0 .and. size(all) == 0))
    status = kry_format_parse("sell:slice=32   ", params)
    call ok("blanks at the end do not count", status == KRY_OK .and. params%format == KRY_FORMAT_SELL .and. params%slice == 32)
    status = kry_deflation_parse("labels:parts.txt", room, deflation)
    call ok("text that C writes", status == KRY_OK .and. kry_text(deflation%labels_file) == "parts.txt")
    call ok("hints", kry_word_hint("jacoby", "jacobi amg") == "; did you mean jacobi?")
  end subroutine

  subroutine solve()
    type(kry_op) :: A, M, solver
    type(kry_result) :: result
    type(kry_vec) :: rhs, answer
    real(real64), pointer :: history(:)
    status = kry_csr_create(device, n, n, row_ptr, col, val, A, spd)
    call ok("a matrix in compressed rows", status == KRY_OK)
    status = kry_amg_create(A, M, kry_amg_params(cycle=kry_cycle_params(sweeps=2)))
    call ok("a preconditioner with parameters", status == KRY_OK)
    status = kry_pcg_create(A, solver, kry_pcg_params(precond=M, stop=kry_stop(rtol=1d-10)))
    call ok("a solver with a preconditioner", status == KRY_OK)
    x = 0
    status = kry_solve_host(solver, b, x, result)
    call ok("a solve", status == KRY_OK .and. maxval(abs(x - u)) < 1d-8)
    call ok("its result", kry_reason_word(result%reason) == "converged" .and. len(kry_text(result%why)) > 0 &
        .and. result%true_residual <= result%target .and. abs(result%norm_b - norm2(b)) < 1d-12 * norm2(b))
    call c_f_pointer(result%history, history, [result%history_count])
    call ok("its history", size(history) == result%iterations + 1 .and. abs(history(1) - result%norm_b) < 1d-10 * result%norm_b)
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, rhs))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, answer))
    call kry_check(kry_vec_write(rhs, reshape(b, [side, side])))
    status = kry_solve(solver, rhs, answer)
    call kry_check(kry_vec_read(answer, x))
    call ok("a solve with vectors", status == KRY_OK .and. maxval(abs(x - u)) < 1d-8)
    call kry_vec_release(rhs)
    call kry_vec_release(answer)
    call kry_op_release(solver)
    call kry_op_release(M)
    call kry_op_release(A)
  end subroutine

  subroutine single_with_wide_integers()
    type(kry_op) :: A, solver
    type(kry_vec) :: rhs, answer
    real(real32) :: y(n)
    integer(int64), parameter :: wide = n
    status = kry_csr_create(device, wide, wide, int(row_ptr, int64), col, real(val, real32), A, spd)
    call ok("a matrix in single, with integers of 64 bits", status == KRY_OK)
    call kry_check(kry_vec_create(device, KRY_F32, wide, 1_int64, rhs))
    call kry_check(kry_vec_create(device, KRY_F32, wide, 1_int64, answer))
    call kry_check(kry_vec_write(rhs, real(b, real32)))
    call kry_check(kry_solver_create(A, "method=pcg precond=jacobi rtol=1e-5", solver))
    call kry_check(kry_solve(solver, rhs, answer))
    call kry_check(kry_vec_read(answer, y))
    call ok("a solve in single", maxval(abs(y - u)) < 1e-2)
    call kry_op_release(solver)
    call kry_vec_release(rhs)
    call kry_vec_release(answer)
    call kry_op_release(A)
  end subroutine

  subroutine new_values()
    type(kry_op) :: A, solver
    call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, spd))
    call kry_check(kry_solver_create(A, "method=pcg precond=amg rtol=1e-10", solver))
    call kry_check(kry_op_update(A, 2 * val(:entries)))
    call kry_check(kry_op_update(solver))
    x = 0
    call kry_check(kry_solve_host(solver, b, x))
    call ok("a solve after an update", maxval(abs(2 * x - u)) < 1d-8)
    call ok("an update of another kind is refused", &
        refused(kry_op_update(A, real(val(:entries), real32)), KRY_ERR_TYPE, "in single"))
    call kry_op_release(solver)
    call kry_op_release(A)
  end subroutine

  subroutine mixed_precision()
    type(kry_op) :: A, solver
    type(kry_result) :: result
    type(kry_matrix_params) :: params
    params = spd
    params%on_host = .true.
    call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, params))
    call kry_check(kry_mixed_create(A, solver))
    call kry_check(kry_op_update(A, 2 * val(:entries)))
    call kry_check(kry_op_update(solver))
    x = 0
    call kry_check(kry_solve_host(solver, b, x, result))
    call ok("mixed precision", maxval(abs(2 * x - u)) < 1d-6 .and. result%single_iterations > 0)
    call kry_op_release(solver)
    call kry_op_release(A)
  end subroutine

  subroutine several_right_hand_sides()
    type(kry_op) :: A, solver
    type(kry_vec) :: rhs, answer, second
    type(kry_result) :: result
    type(kry_column), pointer :: columns(:)
    real(real64) :: many(n, 3), single_one(n)
    call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, spd))
    call kry_check(kry_solver_create(A, "method=pcg precond=jacobi rtol=1e-10", solver))
    call kry_check(kry_vec_create(device, KRY_F64, n, 3, rhs))
    call kry_check(kry_vec_create(device, KRY_F64, n, 3, answer))
    many(:, 1) = b
    many(:, 2) = 3 * b
    many(:, 3) = times(cos(u))
    call kry_check(kry_vec_write(rhs, many))
    status = kry_solve(solver, rhs, answer, result)
    call kry_check(kry_vec_read(answer, many))
    call ok("several right-hand sides", status == KRY_OK .and. maxval(abs(many(:, 1) - u)) < 1d-8 &
        .and. maxval(abs(many(:, 2) - 3 * u)) < 1d-8 .and. maxval(abs(many(:, 3) - cos(u))) < 1d-8)
    call c_f_pointer(result%column, columns, [result%columns])
    call ok("a result for each", size(columns) == 3 .and. all(columns%reason == KRY_CONVERGED))
    call kry_check(kry_vec_view(answer, 2, second))
    call kry_check(kry_vec_read(second, single_one))
    call ok("columns count from 1", all(single_one == many(:, 2)))
    call kry_vec_release(second)
    call kry_check(kry_vec_block(answer, 5, 3, 2, 2, second))
    call kry_check(kry_vec_read(second, single_one(:6)))
    call ok("rows count from 1", all(single_one(:6) == reshape(many(5:7, 2:3), [6])))
    call kry_vec_release(second)
    call kry_vec_release(answer)
    call kry_vec_release(rhs)
    call kry_op_release(solver)
    call kry_op_release(A)
  end subroutine

  ! Without a matrix: u = x between a side at 0 and one at 1, whatever the constant coefficient.
  subroutine grid()
    type(kry_op) :: A, solver
    type(kry_vec) :: rhs, answer
    type(kry_stencil_params) :: params
    type(kry_side_values) :: low(3), high(3)
    real(real64), target :: coefficient(side, side)
    real(real64) :: field(side, side)
    integer :: i
    coefficient = 7
    params%size(:2) = side
    params%spacing(:2) = 1d0 / side
    params%coefficient = c_loc(coefficient)
    params%low(:2) = [KRY_DIRICHLET_FACE, KRY_NEUMANN]
    params%high(:2) = [KRY_DIRICHLET_FACE, KRY_NEUMANN]
    high(1)%constant = 1
    call kry_check(kry_stencil_create(device, KRY_F64, params, A))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, rhs))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, answer))
    call kry_check(kry_stencil_boundary(A, low, high, rhs))
    call kry_check(kry_solver_create(A, "method=pcg precond=mg rtol=1e-10", solver))
    status = kry_solve(solver, rhs, answer)
    call kry_check(kry_vec_read(answer, field))
    call ok("a grid without a matrix", status == KRY_OK .and. &
        all([(maxval(abs(field(i, :) - (i - 0.5d0) / side)) < 1d-8, i = 1, side)]))
    call kry_op_release(solver)
    call kry_vec_release(rhs)
    call kry_vec_release(answer)
    call kry_op_release(A)
  end subroutine

  ! A line through four points: by coordinates, with a matrix that is not square.
  subroutine least_squares()
    type(kry_op) :: A, solver
    real(real64) :: line(2)
    line = 0
    call kry_check(kry_coo_create(device, 4, 2, 8, [1, 2, 3, 4, 1, 2, 3, 4], [1, 1, 1, 1, 2, 2, 2, 2], &
        [1d0, 1d0, 1d0, 1d0, 0d0, 1d0, 2d0, 3d0], A))
    call kry_check(kry_krylov_create(A, "lsqr", solver, kry_pcg_params(stop=kry_stop(rtol=1d-10))))
    status = kry_solve_host(solver, [1d0, 3d0, 5d0, 7d0], line)
    call ok("least squares", status == KRY_OK .and. all(abs(line - [1, 2]) < 1d-8))
    call ok("too short a right-hand side is refused", &
        refused(kry_solve_host(solver, [1d0, 3d0], line), KRY_ERR_SHAPE, "b has"))
    call kry_op_release(solver)
    call kry_op_release(A)
  end subroutine

  subroutine errors()
    type(kry_op) :: A, none
    type(kry_vec) :: v
    integer :: wrong(entries)
    wrong = col(:entries)
    wrong(row_ptr(5)) = n + 1
    status = kry_csr_create(device, n, n, row_ptr, wrong, val, A)
    call ok("messages count from 1", refused(status, KRY_ERR_ARGUMENT, "kry_csr_create: col(16) is 145, outside of 1 ... 144"))
    call ok("nothing is handed out", .not. c_associated(A%ptr))
    call ok("pointers that count from 0 are refused", &
        refused(kry_csr_create(device, n, n, row_ptr - 1, col, val, A), KRY_ERR_ARGUMENT, "row_ptr(1) is 0"))
    call ok("a short array is refused", refused(kry_csr_create(device, n, n, row_ptr, col(:9), val, A), KRY_ERR_SHAPE, &
        "kry_csr_create: col has a size of 9, less than 672"))
    call ok("no rows at all are refused", kry_csr_create(device, -1, n, row_ptr, col, val, A) == KRY_ERR_ARGUMENT)
    call ok("a word that is none", refused(kry_precond_create(none, "jacoby", A), KRY_ERR_ARGUMENT, ""))
    call ok("an operator that is none", refused(kry_op_update(none, val), KRY_ERR_ARGUMENT, ""))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, v))
    call ok("numbers of another kind are refused", refused(kry_vec_write(v, real(b, real32)), KRY_ERR_TYPE, "kry_vec_write"))
    call ok("too few numbers are refused", refused(kry_vec_read(v, x(:n - 1)), KRY_ERR_SHAPE, "size of 143, less than 144"))
    call ok("a message of the caller's", refused(kry_fail(KRY_ERR_CALLBACK, "50% %s done"), KRY_ERR_CALLBACK, "50% %s done"))
    call kry_vec_release(v)
  end subroutine

  subroutine indices()
    type(kry_word), pointer :: first, last
    integer :: i
    first => kry_solver_word(1)
    call ok("words count from 1", kry_text(first%name) == "method" .and. .not. associated(kry_solver_word(0)))
    i = 0
    do
      i = i + 1
      last => kry_precond_word(i)
      if (.not. associated(last)) exit
    end do
    call ok("the words end", i > 5)
    call ok("parts count from 1", c_associated(p(kry_team_part(device, 1)), device%ptr))
  end subroutine

  type(c_ptr) function p(handle)
    type(kry_device), intent(in) :: handle
    p = handle%ptr
  end function

  subroutine entries_come_back()
    type(kry_op) :: A
    integer(int64) :: rows(n + 1)
    integer :: columns(entries)
    real(real64) :: values(entries)
    call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, spd))
    call kry_check(kry_matrix_read(A, rows, columns, values))
    call ok("entries come back", all(rows == row_ptr) .and. columns(1) == 1 .and. maxval(columns) == n .and. &
        abs(sum(values) - sum(val(:entries))) < 1d-12)
    call ok("too short an array for them", refused(kry_matrix_read(A, rows, columns(:9), values), KRY_ERR_SHAPE, "col has"))
    call kry_op_release(A)
  end subroutine

  subroutine dense()
    type(kry_op) :: lu
    type(kry_vec) :: A, diagonal, off, rhs, answer
    integer(int64) :: order(3), column
    real(real64) :: smallest, thomas(3)
    call kry_check(kry_vec_create(device, KRY_F64, 3, 3, A))
    call kry_check(kry_vec_write(A, reshape([1d0, 2d0, 4d0, 0d0, 3d0, 1d0, 0d0, 0d0, 0.5d0], [3, 3])))
    call kry_check(kry_lu_create(A, lu))
    call kry_check(kry_lu_factors(lu, row_order=order))
    call kry_check(kry_lu_pivot(lu, smallest, column))
    call ok("rows of factors count from 1", all(order == [3, 2, 1]) .and. column >= 1 .and. column <= 3)
    call kry_op_release(lu)
    call kry_vec_release(A)
    call kry_check(kry_vec_create(device, KRY_F64, 3, 1, diagonal))
    call kry_check(kry_vec_create(device, KRY_F64, 3, 1, off))
    call kry_check(kry_vec_create(device, KRY_F64, 3, 1, rhs))
    call kry_check(kry_vec_create(device, KRY_F64, 3, 1, answer))
    call kry_check(kry_vec_fill(diagonal, 2d0))
    call kry_check(kry_vec_fill(off, -1d0))
    call kry_check(kry_vec_write(rhs, [1d0, 0d0, 1d0]))
    call kry_check(kry_tridiagonal_solve(off, diagonal, off, rhs, answer))
    call kry_check(kry_vec_read(answer, thomas))
    call ok("a banded system", all(abs(thomas - 1) < 1d-12))
    call kry_vec_release(diagonal)
    call kry_vec_release(off)
    call kry_vec_release(rhs)
    call kry_vec_release(answer)
  end subroutine

  subroutine monitor()
    procedure(kry_monitor) :: stop_after_two
    type(kry_op) :: A, solver
    type(kry_result) :: result
    type(kry_pcg_params) :: params
    integer, target :: looks
    looks = 0
    call kry_check(kry_csr_create(device, n, n, row_ptr, col, val, A, spd))
    call kry_check(kry_solver_create(A, "method=pcg precond=none", solver, stop_after_two, c_loc(looks)))
    x = 0
    status = kry_solve_host(solver, b, x, result)
    call ok("a monitor stops a solve", status == KRY_STOPPED .and. result%reason == KRY_MONITOR_STOP .and. looks > 0)
    call kry_op_release(solver)
    looks = 0
    params%monitor = c_funloc(stop_after_two)
    params%monitor_user = c_loc(looks)
    call kry_check(kry_pcg_create(A, solver, params))
    x = 0
    status = kry_solve_host(solver, b, x)
    call ok("a monitor among parameters", status == KRY_STOPPED .and. looks > 0)
    call kry_op_release(solver)
    call kry_check(kry_solver_create(A, "method=pcg precond=none", solver))
    call kry_device_set_monitor(device, stop_after_two, c_loc(looks))
    call ok("a monitor of the device", kry_solve_host(solver, b, x) == KRY_STOPPED)
    call kry_device_set_monitor(device)
    call ok("and none any more", kry_solve_host(solver, b, x) == KRY_OK)
    call kry_op_release(solver)
    call kry_op_release(A)
  end subroutine

  subroutine own_operator()
    interface
      function twice_apply(self, alpha, x, beta, y) bind(c) result(returned)
        import
        type(c_ptr), value :: self, x, y
        real(c_double), value :: alpha, beta
        integer(c_int) :: returned
      end function
    end interface
    type(kry_op_table), target, save :: table
    type(kry_op) :: twice, failing
    type(kry_op_info) :: info
    type(kry_vec) :: v, w
    integer, target :: anything
    character(kind=c_char), target, save :: kind(6) = [character(kind=c_char) :: "t", "w", "i", "c", "e", c_null_char]
    table%kind = c_loc(kind)
    table%apply = c_funloc(twice_apply)
    call kry_check(kry_op_create(device, table, c_null_ptr, kry_op_shape(rows=n, cols=n, type=KRY_F64), twice))
    call kry_check(kry_op_create(device, table, c_loc(anything), kry_op_shape(rows=n, cols=n, type=KRY_F64), failing))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, v))
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, w))
    call kry_check(kry_vec_write(v, b))
    call kry_check(kry_op_apply(twice, 1d0, v, 0d0, w))
    call kry_check(kry_vec_read(w, x))
    call ok("an operator of the caller's own", all(x == 2 * b))
    call kry_op_describe(twice, info)
    call ok("its description", kry_text(info%kind) == "twice")
    call ok("its failure", refused(kry_op_apply(failing, 1d0, v, 0d0, w), KRY_ERR_CALLBACK, "100% of it"))
    call kry_vec_release(v)
    call kry_vec_release(w)
    call kry_op_release(failing)
    call kry_op_release(twice)
  end subroutine

  subroutine files()
    type(kry_mtx), pointer :: mtx, none
    type(kry_vec) :: v
    integer :: unit
    call kry_check(kry_vec_create(device, KRY_F64, n, 1, v))
    call kry_check(kry_vec_write(v, b))
    call kry_check(kry_mtx_write_vec(path, v))
    call kry_check(kry_mtx_read(path, mtx))
    call ok("a file", mtx%array .and. mtx%rows == n .and. mtx%cols == 1)
    call kry_mtx_release(mtx)
    call ok("what was read is released", .not. associated(mtx))
    call ok("no file", refused(kry_mtx_read("none.mtx", none), KRY_ERR_FILE, "none.mtx") .and. .not. associated(none))
    open (newunit=unit, file=path)
    close (unit, status="delete")
    call kry_vec_release(v)
  end subroutine
end program
