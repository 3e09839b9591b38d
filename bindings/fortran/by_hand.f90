  interface
    function c_kry_fail(status, format) bind(c, name="kry_fail") result(returned)
      import
      integer(c_int), value :: status
      type(c_ptr), value :: format
      integer(c_int) :: returned
    end function
    subroutine c_free(ptr) bind(c, name="free")
      import
      type(c_ptr), value :: ptr
    end subroutine
    function c_strlen(text) bind(c, name="strlen") result(returned)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: returned
    end function
  end interface
  ! The devices of all ranks as one, kry/mpi.h: of kry_mpi.c, which is compiled with the program. Of mpi_f08 hand over comm%mpi_val.
  interface
    function kry_team_of_mpi(comm, device, team, params) bind(c, name="kry_fortran_team_of_mpi") result(returned)
      import
      integer(c_int), value :: comm
      type(kry_device), intent(in) :: device
      type(kry_device), intent(out) :: team
      type(kry_team_params), intent(in), optional :: params
      integer(c_int) :: returned
    end function
  end interface
  ! The text at an address, or in an array of characters, of C.
  interface kry_text
    module procedure text_at, text_of
  end interface
contains
  ! End the program with kry's message unless `status` is KRY_OK.
  subroutine kry_check(status)
    integer(c_int), intent(in) :: status
    character(len=:), allocatable :: message
    if (status == KRY_OK) return
    message = kry_status_text(status)//": "//kry_last_error()
    error stop message
  end subroutine

  ! Record a message for kry_last_error and hand `status` back.
  function kry_fail(status, message) result(returned)
    integer(c_int), intent(in) :: status
    character(len=*), intent(in) :: message
    integer(c_int) :: returned
    character(len=:), allocatable :: format
    character(kind=c_char), allocatable, target :: format_c(:)
    integer :: i
    format = ""
    do i = 1, len_trim(message)
      format = format//message(i:i)
      if (message(i:i) == "%") format = format//"%"
    end do
    allocate(format_c, source=c_text(format))
    returned = c_kry_fail(status, c_loc(format_c))
  end function

  ! The profiles of all OpenCL devices.
  function kry_device_list(info) result(returned)
    type(kry_device_info), allocatable, intent(out) :: info(:)
    integer(c_int) :: returned
    type(c_ptr), target :: info_c
    integer(c_int), target :: count
    type(kry_device_info), pointer :: all(:)
    returned = c_kry_device_list_sized(c_loc(info_c), c_loc(count), c_sizeof(kry_device_info()))
    allocate(info(0))
    if (returned < 0) return
    call c_f_pointer(info_c, all, [count])
    info = all
    call c_free(info_c)
  end function

  function text_at(text) result(returned)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: returned
    character(kind=c_char), pointer :: bytes(:)
    returned = ""
    if (.not. c_associated(text)) return
    call c_f_pointer(text, bytes, [c_strlen(text)])
    returned = joined(bytes)
  end function

  function text_of(text) result(returned)
    character(kind=c_char), intent(in) :: text(:)
    character(len=:), allocatable :: returned
    returned = joined(text)
    if (index(returned, c_null_char) > 0) returned = returned(:index(returned, c_null_char) - 1)
  end function

  pure function joined(bytes) result(text)
    character(kind=c_char), intent(in) :: bytes(:)
    character(len=size(bytes)) :: text
    integer :: i
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function

  ! A string as C takes it.
  pure function c_text(text) result(bytes)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: bytes(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      bytes(i) = text(i:i)
    end do
    bytes(size(bytes)) = c_null_char
  end function

  ! Whether an array is long enough; if not, the message says so.
  function suffices(name, array, given, needed)
    character(len=*), intent(in) :: name, array
    integer(c_int64_t), intent(in) :: given, needed
    logical :: suffices
    character(len=200) :: message
    integer(c_int) :: status
    suffices = given >= needed
    if (suffices) return
    write (message, "(4a,i0,a,i0)") name, ": ", array, " has a size of ", given, ", less than ", needed
    status = kry_fail(KRY_ERR_SHAPE, message)
  end function

  ! Whether the first `count` indices are from 1 to `limit`; if not, the message says so.
  function within(name, array, indices, count, limit)
    character(len=*), intent(in) :: name, array
    integer(c_int32_t), intent(in) :: indices(:)
    integer(c_int64_t), intent(in) :: count, limit
    logical :: within
    character(len=200) :: message
    integer(c_int64_t) :: i
    integer(c_int) :: status
    within = .true.
    do i = 1, count
      if (indices(i) >= 1 .and. indices(i) <= limit) cycle
      write (message, "(4a,i0,a,i0,a,i0)") name, ": ", array, "(", i, ") is ", indices(i), ", outside of 1 ... ", limit
      status = kry_fail(KRY_ERR_ARGUMENT, message)
      within = .false.
      return
    end do
  end function

  ! Whether numbers of the array's type are those of the object; if not, the message says so. 0: there is no object.
  function kinds_agree(name, ours, given)
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: ours, given
    logical :: kinds_agree
    integer(c_int) :: status
    kinds_agree = ours == given .or. ours == 0
    if (.not. kinds_agree) status = kry_fail(KRY_ERR_TYPE, &
        name//": the array is in "//kry_type_name(given)//", the numbers are in "//kry_type_name(ours))
  end function

  ! The entries of compressed rows, whose pointers count from 0; 0 where those are too few.
  pure function entries(row_ptr, rows)
    integer(c_int64_t), intent(in) :: row_ptr(:)
    class(*), intent(in) :: rows
    integer(c_int64_t) :: entries, n
    n = -1
    select type (rows)
    type is (integer(c_int32_t))
      n = rows
    type is (integer(c_int64_t))
      n = rows
    end select
    entries = 0
    if (n >= 0 .and. n < size(row_ptr, kind=c_int64_t)) entries = row_ptr(n + 1)
  end function

  function numbers_here(vec)
    type(kry_vec), intent(in) :: vec
    integer(c_int64_t) :: numbers_here
    numbers_here = kry_vec_rows_here(vec) * kry_vec_cols(vec)
  end function

  ! What this process has of an operator: on ranks their own rows.
  function volume_here(op) result(volume)
    type(kry_op), intent(in) :: op
    type(kry_part_volume) :: volume
    type(kry_op_info) :: info
    type(kry_op_shape), pointer :: shape
    integer(c_int) :: status
    shape => kry_op_get_shape(op)
    if (.not. associated(shape)) return
    if (kry_team_is_ranks(kry_op_device(op))) then
      status = kry_op_volume(op, kry_team_rank(kry_op_device(op)) + 1, volume)
      return
    end if
    call kry_op_describe(op, info)
    volume%rows = shape%rows
    volume%entries = info%nnz
  end function

  function rows_here(op)
    type(kry_op), intent(in) :: op
    integer(c_int64_t) :: rows_here
    type(kry_part_volume) :: volume
    volume = volume_here(op)
    rows_here = volume%rows
  end function

  function cols_here(op)
    type(kry_op), intent(in) :: op
    integer(c_int64_t) :: cols_here
    type(kry_op_shape), pointer :: shape
    cols_here = rows_here(op)
    shape => kry_op_get_shape(op)
    if (associated(shape) .and. .not. kry_team_is_ranks(kry_op_device(op))) cols_here = shape%cols
  end function

  function entries_here(op)
    type(kry_op), intent(in) :: op
    integer(c_int64_t) :: entries_here
    type(kry_part_volume) :: volume
    volume = volume_here(op)
    entries_here = volume%entries
  end function

  ! 0 for no operator.
  function type_of(op)
    type(kry_op), intent(in) :: op
    integer(c_int) :: type_of
    type(kry_op_shape), pointer :: shape
    type_of = 0
    shape => kry_op_get_shape(op)
    if (associated(shape)) type_of = shape%type
  end function

  ! FUNCTIONS
end module
