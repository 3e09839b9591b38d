"""module.py INCLUDE kry.f90 layout.f90 layout.c - kry's headers as a module of Fortran, and what a test compares its types by

A function of the module has the name of the header's and its arguments in their order, those that may be left out last:

  handles, structs    derived types of the same names; `struct_size` is filled in
  strings             as they are, without blanks at the end; those that come back are allocatable
  arrays of reals     of either kind and any rank; where they carry numbers of a matrix or a vector their kind is the `type`
  integers            64-bit ones of C are default ones or int64, all arguments of a call alike; what comes back is int64
  indices             from 1, in arguments and in arrays that are arguments (INDICES)
  addresses           type(c_ptr), type(c_funptr)
  by_hand.f90            has what is written by hand

INCLUDE: the folder of the headers. The other arguments are written.
"""
import re
import sys
from itertools import product
from pathlib import Path

from pycparser import c_ast, c_parser

sys.path.insert(0, str(Path(__file__).parents[1]))
from headers import HANDLES, declarations  # noqa: E402

KINDS = {'int': 'integer(c_int)', 'unsigned': 'integer(c_int)', 'int32_t': 'integer(c_int32_t)', 'int64_t': 'integer(c_int64_t)',
         'uint64_t': 'integer(c_int64_t)', 'size_t': 'integer(c_size_t)', 'double': 'real(c_double)', 'bool': 'logical(c_bool)'}
WIDE = ('int64_t', 'uint64_t')
PRELUDE = ''.join(f'typedef int {name};\n' for name in (*KINDS, 'FILE') if name not in ('int', 'unsigned', 'double'))

# Fortran does not tell kry_sum from KRY_SUM.
RENAMED = {'kry_sum': 'kry_partial_sum'}
BY_HAND = ('kry_device_list_sized', 'kry_fail')
# Of `double *x` and the like those that are no single number.
ARRAYS = ('labels', 'row_ptr', 'col', 'row_order', 'pivot_columns', 'modes', 'x', 'y', 'component')
# Structs of which several are meant.
STRUCT_ARRAYS = (('kry_device_launch', 'args'), ('kry_systems_solve_sized', 'each'), ('kry_team_volume', 'volume'))
# What may be NULL, beside constant parameters. kry_stencil_params may not.
OPTIONAL = {
    'kry_device_open': 'spec', 'kry_device_open_timed': 'spec', 'kry_device_compile_seconds': 'programs',
    'kry_device_set_launch_shape': 'shape', 'kry_op_update': 'values', 'kry_op_set_null_space': 'vectors',
    'kry_op_set_near_null_space': 'vectors', 'kry_labels_blocks': 'phase', 'kry_lu_factors': 'L U row_order',
    'kry_vec_rref': 'pivot_columns rank', 'kry_solver_create': 'monitor monitor_user', 'kry_device_set_monitor': 'monitor user',
    'kry_systems_create': 'row_ptr col', 'kry_systems_solve_sized': 'each result',
    'kry_solve_sized': 'result', 'kry_solve_host_sized': 'result', 'kry_vec_rows_here': 'first', 'kry_vec_buffer': 'first',
    'kry_device_kernel': 'source options', 'kry_device_set_trace': 'trace user', 'kry_mtx_write': 'comment',
    'kry_mtx_write_vec_comment': 'comment', 'kry_share_components': 'left_out', 'kry_tuning_each': 'user', 'kry_kernels_each': 'user',
}
# Arguments that are indices, and so differ by 1 from those of C; `returned` is what a function returns.
INDICES = {
    'kry_csr_create': 'row_ptr col', 'kry_csr_predict': 'row_ptr col', 'kry_csr_create_rows': 'first_row row_ptr col',
    'kry_coo_create': 'row col', 'kry_team_volume': 'row_ptr col', 'kry_matrix_read': 'row_ptr col', 'kry_stencil_read': 'row_ptr col',
    'kry_systems_create': 'row_ptr col', 'kry_vec_view': 'j', 'kry_vec_block': 'i j', 'kry_multigrid_level': 'i', 'kry_team_part': 'i',
    'kry_op_volume': 'i', 'kry_vec_part': 'i first', 'kry_vec_row': 'i returned', 'kry_vec_rows_here': 'first',
    'kry_team_rows': 'first', 'kry_lu_factors': 'row_order', 'kry_lu_pivot': 'column', 'kry_vec_rref': 'pivot_columns',
    'kry_solver_word': 'i', 'kry_precond_word': 'i', 'kry_precond_setting': 'i', 'kry_deflation_word': 'i',
}
# How many numbers an array must have.
CSR = {'row_ptr': '1_c_int64_t + rows', 'col': 'entries(row_ptr_c, rows)', 'val': 'entries(row_ptr_c, rows)'}
LABELS = {'labels': 'n'}
EXTENTS = {
    'kry_csr_create': CSR, 'kry_csr_predict': CSR, 'kry_csr_create_rows': CSR,
    'kry_coo_create': {'row': 'nnz', 'col': 'nnz', 'val': 'nnz'},
    'kry_team_volume': {'row_ptr': '1_c_int64_t + n', 'col': 'entries(row_ptr_c, n)', 'volume': 'parts'},
    'kry_systems_create': {'row_ptr': '1_c_int64_t + n', 'col': 'entries(row_ptr_c, n)'},
    'kry_systems_solve_sized': {'each': 'kry_vec_cols(b)'},
    'kry_vec_write': {'host': 'numbers_here(vec)'}, 'kry_vec_read': {'host': 'numbers_here(vec)'},
    'kry_matrix_read': {'row_ptr': 'rows_here(op) + 1', 'col': 'entries_here(op)', 'val': 'entries_here(op)'},
    'kry_stencil_read': {'row_ptr': 'rows_here(A) + 1', 'col': 'entries_here(A)', 'val': 'entries_here(A)'},
    'kry_solve_host_sized': {'b': 'rows_here(solver)', 'x': 'cols_here(solver)'},
    'kry_labels_stripes': LABELS, 'kry_labels_read': LABELS, 'kry_labels_check': LABELS,
    'kry_labels_levels': {'field': 'n', 'labels': 'n'}, 'kry_labels_graph': {'labels': 'rows_here(A)'},
    'kry_vec_rref': {'pivot_columns': 'min(kry_vec_rows(A), kry_vec_cols(A))'},
    'kry_rigid_body_modes': {'coordinates': '1_c_int64_t * axes * nodes', 'modes': '1_c_int64_t * axes * nodes * merge(3, 6, axes == 2)'},
}
# Up to which index an array goes, where C's message would count from 0.
LIMITS = {'kry_csr_create': {'row_ptr': '1', 'col': 'cols'}, 'kry_csr_predict': {'row_ptr': '1', 'col': 'cols'},
          'kry_csr_create_rows': {'row_ptr': '1'}, 'kry_team_volume': {'row_ptr': '1', 'col': 'n'},
          'kry_coo_create': {'row': 'rows', 'col': 'cols'}}
# Whose numbers those of an array are, where no argument `type` says it.
TYPES = {'kry_vec_write': 'kry_vec_type(vec)', 'kry_vec_read': 'kry_vec_type(vec)', 'kry_op_update': 'type_of(op)',
         'kry_matrix_read': 'type_of(op)', 'kry_stencil_read': 'type_of(A)'}
REALS = {'c_float': 'KRY_F32', 'c_double': 'KRY_F64'}


class Type:
    """A type of C: the name at its end, the pointers to it, its dimensions, and whether it is constant or a function."""

    def __init__(self, node, functions=()):
        self.dims = []
        while isinstance(node, c_ast.ArrayDecl):
            self.dims.append(node.dim.value if isinstance(node.dim, c_ast.Constant) else node.dim.name)
            node = node.type
        self.stars, self.list = 0, False  # list: T *const *
        while isinstance(node, c_ast.PtrDecl):
            self.list = self.list or 'const' in node.quals
            self.stars, node = self.stars + 1, node.type
        self.function = isinstance(node, c_ast.FuncDecl)
        self.const = not self.function and 'const' in node.quals
        self.name = '' if self.function else getattr(node.type, 'name', None) or ' '.join(node.type.names)
        self.function = self.function or self.name in functions


class Headers:
    """What the headers declare, in their order, by names."""

    def __init__(self, include):
        self.enumerators, self.structs, self.functions, self.function_types = {}, {}, {}, {}
        self.kinds, self.handles = dict(KINDS), []
        for node in c_parser.CParser().parse(PRELUDE + declarations(include, ['opencl.h'])).ext:
            self.take(node)
        self.handles = [name for name in self.handles if name not in self.structs]

    def take(self, node):
        inner = node.type.type if isinstance(node, c_ast.Typedef) else node.type
        if isinstance(node.type, c_ast.FuncDecl) and isinstance(node, c_ast.Decl):
            self.functions[node.name] = node.type
        elif isinstance(inner, c_ast.Enum):
            self.take_enum(inner)
        elif isinstance(inner, c_ast.Struct) and inner.decls:
            self.structs[inner.name] = inner.decls
        elif isinstance(inner, c_ast.Struct):
            self.handles.append(node.name)
        elif isinstance(inner, c_ast.FuncDecl) or isinstance(node.type, c_ast.FuncDecl):
            self.function_types[node.name] = inner if isinstance(inner, c_ast.FuncDecl) else node.type

    def take_enum(self, enum):
        if enum.name:
            self.kinds[enum.name] = 'integer(c_int)'
        value = -1
        for enumerator in enum.values.enumerators:
            value = self.value(enumerator.value) if enumerator.value else value + 1
            self.enumerators[enumerator.name] = value

    def value(self, node):
        if isinstance(node, c_ast.UnaryOp):
            return -self.value(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            return self.value(node.left) << self.value(node.right)
        return self.enumerators[node.name] if isinstance(node, c_ast.ID) else int(node.value.rstrip('u'), 0)

    def type(self, node):
        return Type(node, self.function_types)

    def arguments(self, function):
        args = [] if function.args is None else function.args.params
        types = [(arg.name, self.type(arg.type)) for arg in args if isinstance(arg, c_ast.Decl)]
        return [(name, kind) for name, kind in types if name]

    def has_size(self, struct):
        return struct in self.structs and self.structs[struct][0].name == 'struct_size'


def fortran(name):
    return RENAMED.get(name, name)


def wrapped(line, width=120):
    """A statement over as many lines as it needs."""
    indent = ' ' * (len(line) - len(line.lstrip()) + 4)
    lines = []
    while len(line) > width:
        cut = line.rfind(', ', 0, width) + 1
        lines.append(line[:cut] + ' &')
        line = indent + line[cut:].lstrip()
    return '\n'.join([*lines, line])


# ---- types ----

def field(headers, decl):
    """A component with its default value, which lets constructors leave it out."""
    kind, name = headers.type(decl.type), decl.name
    dims = f'({", ".join(kind.dims)})' if kind.dims else ''
    if kind.function:
        return f'type(c_funptr) :: {name}{dims} = c_null_funptr'
    if kind.stars == 1 and kind.name in headers.handles:
        return f'type({fortran(kind.name)}) :: {name} = {fortran(kind.name)}()'
    if kind.stars or kind.name in HANDLES:
        return f'type(c_ptr) :: {name}{dims} = c_null_ptr'
    if kind.name in headers.structs:
        return f'type({kind.name}) :: {name}{dims} = {kind.name}()'
    if kind.name == 'char':
        return f'character(kind=c_char) :: {name}{dims} = c_null_char'
    zero = '.false._c_bool' if kind.name == 'bool' else '0'
    return f'{headers.kinds[kind.name]}{", private" if name == "struct_size" else ""} :: {name}{dims} = {zero}'


def types(headers):
    for name in headers.handles:
        yield f'  type, bind(c) :: {fortran(name)}\n    type(c_ptr) :: ptr = c_null_ptr\n  end type\n'
    for name, decls in headers.structs.items():
        yield f'  type, bind(c) :: {name}\n' + ''.join(f'    {field(headers, decl)}\n' for decl in decls) + '  end type\n'


def interface_of(headers, name, function, callback=False):
    """A function as C has it. Callbacks take structs by reference, in place of addresses."""
    args, lines = headers.arguments(function), []
    for arg, kind in args:
        if kind.function:
            lines.append(f'type(c_funptr), value :: {arg}')
        elif callback and kind.stars == 1 and kind.name in headers.structs:
            lines.append(f'type({kind.name}), intent({"in" if kind.const else "inout"}) :: {arg}')
        elif callback and kind.stars == 2 and kind.name in headers.handles:
            lines.append(f'type({fortran(kind.name)}), intent(inout) :: {arg}')
        elif kind.stars or kind.dims or kind.name in HANDLES:
            lines.append(f'type(c_ptr), value :: {arg}')
        else:
            lines.append(f'{headers.kinds[kind.name]}, value :: {arg}')
    returned = headers.type(function.type)
    if returned.stars or returned.name in HANDLES:
        lines.append('type(c_ptr) :: returned')
    elif returned.name in headers.structs:
        lines.append(f'type({returned.name}) :: returned')
    elif returned.name != 'void':
        lines.append(f'{headers.kinds[returned.name]} :: returned')
    what = 'subroutine' if returned.name == 'void' and not returned.stars else 'function'
    bind = 'bind(c)' if callback else f'bind(c, name="{name[2:]}")'
    head = f'    {what} {name}({", ".join(arg for arg, _ in args)}) {bind}' + (' result(returned)' if what == 'function' else '')
    return '\n'.join([wrapped(head), '      import', *(f'      {line}' for line in lines), f'    end {what}\n'])


# ---- functions ----

class Function:
    """A function of the module: C's, called with what Fortran's arguments become."""

    def __init__(self, headers, name, node):
        self.headers, self.c_name, self.node = headers, name, node
        self.name = name.removesuffix('_sized')
        self.args = headers.arguments(node)
        self.optional = OPTIONAL.get(name, '').split()
        self.indices = INDICES.get(name, '').split()
        self.numbers = [arg for arg, kind in self.args if kind.name == 'void' and arg in ('val', 'host', 'values')]
        self.returned = headers.type(node.type)

    def is_optional(self, arg, kind):
        return arg in self.optional or (kind.name.endswith('_params') and kind.const and kind.name != 'kry_stencil_params')

    def variants(self):
        """Kinds of the 64-bit integers, kinds of the numbers, and whether there are numbers."""
        wide = any(kind.name in WIDE and (not kind.stars or kind.const) for _, kind in self.args)
        ints = ('c_int32_t', 'c_int64_t') if wide else (None,)
        reals = tuple(REALS) if self.numbers else (None,)
        if self.numbers and self.numbers[0] in self.optional:
            reals += (None,)
        return list(product(ints, reals))

    def text(self):
        variants = self.variants()
        if len(variants) == 1:
            return '', self.procedure(self.name, *variants[0])
        names = ['_'.join([self.name, *(kind[2:] for kind in variant if kind)]) for variant in variants]
        names = [name if name != self.name else f'{name}_none' for name in names]
        interface = f'  interface {self.name}\n' + ''.join(f'    module procedure {name}\n' for name in names) + '  end interface\n'
        return interface, ''.join(self.procedure(name, *variant) for name, variant in zip(names, variants))

    def procedure(self, name, int_kind, real_kind):
        self.int_kind, self.real_kind = int_kind, real_kind
        self.dummies, self.declared, self.locals, self.before, self.passed, self.after = [], [], [], [], [], []
        self.buffer = None  # the size of a string that C writes
        for arg, kind in self.args:
            self.argument(arg, kind)
        self.dummies.sort(key=lambda dummy: dummy[1])
        self.checks()
        call, what = self.call(f'c_{self.c_name}({", ".join(self.passed)})')
        head = f'  {what} {name}({", ".join(arg for arg, _ in self.dummies)})' + (' result(returned)' if what == 'function' else '')
        body = [*self.declared, *self.locals, *self.before, *call, *self.after]
        return '\n'.join([wrapped(head), *(wrapped(f'    {line}') for line in body), f'  end {what}\n\n'])

    # One argument: how Fortran declares it, what is done before and after, and what C gets.
    def argument(self, arg, kind):
        optional = self.is_optional(arg, kind)
        opened = ', optional' if optional else ''
        if arg in self.numbers and self.real_kind is None:
            return self.passed.append('c_null_ptr')
        if kind.name == 'kry_type' and arg == 'type' and self.numbers:
            return self.passed.append(REALS[self.real_kind])
        if self.c_name.endswith('_sized') and arg.endswith('_size'):
            return self.passed.append(f'c_sizeof({self.args[-2][1].name}())')
        if arg == 'size' and self.buffer:
            return self.passed.append(f'int({self.buffer}, c_size_t)')
        self.dummies.append((arg, optional))
        if kind.function:
            return self.function(arg, kind, optional)
        if kind.name == 'char':
            return self.string(arg, kind, optional)
        if kind.name in self.headers.handles:
            return self.handle(arg, kind, optional)
        if kind.name in self.headers.structs:
            return self.struct(arg, kind, optional)
        if kind.name in (*HANDLES, 'FILE', 'void') and arg not in self.numbers:
            return self.opaque(arg, kind, optional)
        if kind.stars == 0 and not kind.dims:
            return self.scalar(arg, kind)
        if kind.const or kind.dims or arg in ARRAYS or arg in self.numbers:
            return self.array(arg, kind, optional)
        self.by_address(arg, f'{self.headers.kinds[kind.name]}, intent(out), target{opened}', optional)
        if arg in self.indices:
            self.after.append(f'if (present({arg})) {arg} = {arg} + 1' if optional else f'{arg} = {arg} + 1')

    def plain(self, arg, declaration, optional, absent):
        self.declared.append(f'{declaration} :: {arg}')
        if not optional:
            return self.passed.append(arg)
        self.locals.append(f'{declaration.split(",")[0]} :: {arg}_p')
        self.before += [f'{arg}_p = {absent}', f'if (present({arg})) {arg}_p = {arg}']
        self.passed.append(f'{arg}_p')

    def by_address(self, arg, declaration, optional, dims=''):
        self.declared.append(f'{declaration} :: {arg}{dims}')
        self.address(arg, arg, optional)

    def address(self, arg, of, optional, first=()):
        """C gets the address of `of`, after the statements `first`; or NULL without the argument."""
        if not optional:
            self.before += first
            return self.passed.append(f'c_loc({of})')
        self.locals.append(f'type(c_ptr) :: {arg}_p')
        self.before += [f'{arg}_p = c_null_ptr', f'if (present({arg})) then', *(f'  {line}' for line in first),
                        f'  {arg}_p = c_loc({of})', 'end if']
        self.passed.append(f'{arg}_p')

    def function(self, arg, kind, optional):
        if not kind.name:  # without a name for its interface
            return self.plain(arg, 'type(c_funptr), intent(in)', False, None)
        self.declared.append(f'procedure({kind.name}){", optional" if optional else ""} :: {arg}')
        self.locals.append(f'type(c_funptr) :: {arg}_p')
        self.before += [f'{arg}_p = c_null_funptr', f'if (present({arg})) {arg}_p = c_funloc({arg})'] if optional else \
            [f'{arg}_p = c_funloc({arg})']
        self.passed.append(f'{arg}_p')

    def string(self, arg, kind, optional):
        opened = ', optional' if optional else ''
        if kind.stars == 2:  # to be freed
            self.declared.append(f'character(len=:), allocatable, intent(out) :: {arg}')
            self.locals.append(f'type(c_ptr), target :: {arg}_c')
            self.before.append(f'{arg}_c = c_null_ptr')
            self.after += [f'{arg} = kry_text({arg}_c)', f'call c_free({arg}_c)']
            return self.passed.append(f'c_loc({arg}_c)')
        if not kind.const and self.returned.name == 'char':  # written, and returned
            self.dummies.pop()
            self.buffer = f'size({arg}_c)'
            self.locals.append(f'character(kind=c_char), target :: {arg}_c(4096)')
            return self.passed.append(f'c_loc({arg}_c)')
        if not kind.const:
            self.buffer = f'len({arg})'
            return self.by_address(arg, 'character(len=*), intent(inout), target', False)
        self.declared.append(f'character(len=*), intent(in){opened} :: {arg}')
        self.locals.append(f'character(kind=c_char), allocatable, target :: {arg}_c(:)')
        self.address(arg, f'{arg}_c', optional, [f'allocate({arg}_c, source=c_text({arg}))'])

    def handle(self, arg, kind, optional):
        name = fortran(kind.name)
        if kind.list:
            return self.by_address(arg, f'type({name}), intent(in), target, contiguous', optional, '(:)')
        if kind.stars == 2:
            intent = 'inout' if self.name.endswith('_release') else 'out'
            return self.by_address(arg, f'type({name}), intent({intent}), target', optional)
        self.declared.append(f'type({name}), intent(in){", optional" if optional else ""} :: {arg}')
        if not optional:
            return self.passed.append(f'{arg}%ptr')
        self.locals.append(f'type(c_ptr) :: {arg}_p')
        self.before += [f'{arg}_p = c_null_ptr', f'if (present({arg})) {arg}_p = {arg}%ptr']
        self.passed.append(f'{arg}_p')

    def struct(self, arg, kind, optional):
        name, opened = kind.name, ', optional' if optional else ''
        if kind.stars == 2:
            intent = 'inout' if self.name.endswith('_release') else 'out'
            self.declared.append(f'type({name}), pointer, intent({intent}) :: {arg}')
            self.locals.append(f'type(c_ptr), target :: {arg}_c')
            self.before += [f'{arg}_c = c_null_ptr'] + ([f'if (associated({arg})) {arg}_c = c_loc({arg})'] if intent == 'inout' else [])
            self.after += [f'nullify({arg})', f'if (c_associated({arg}_c)) call c_f_pointer({arg}_c, {arg})']
            return self.passed.append(f'c_loc({arg}_c)')
        if kind.dims or (self.c_name, arg) in STRUCT_ARRAYS:
            dims = f'({kind.dims[0] if kind.dims else ":"})'
            whole = ', contiguous' if dims == '(:)' else ''
            return self.by_address(arg, f'type({name}), intent({"in" if kind.const else "out"}), target{whole}{opened}', optional, dims)
        sized = self.headers.has_size(name)
        if sized and kind.const and name != 'kry_op_table':  # which is kept where it is
            self.declared.append(f'type({name}), intent(in){opened} :: {arg}')
            self.locals.append(f'type({name}), target :: {arg}_c')
            return self.address(arg, f'{arg}_c', optional, [f'{arg}_c = {arg}', f'{arg}_c%struct_size = c_sizeof({arg}_c)'])
        self.declared.append(f'type({name}), intent({"inout" if sized else "in" if kind.const else "out"}), target{opened} :: {arg}')
        self.address(arg, arg, optional, [f'{arg}%struct_size = c_sizeof({arg})'] if sized else [])

    def opaque(self, arg, kind, optional):
        opened = ', optional' if optional else ''
        if kind.stars == (1 if kind.name in HANDLES else 2):
            return self.by_address(arg, f'type(c_ptr), intent({"inout" if kind.name == "FILE" else "out"}), target{opened}', optional)
        self.plain(arg, f'type(c_ptr), intent(in){opened}', optional, 'c_null_ptr')

    def scalar(self, arg, kind):
        value = arg
        declaration = self.headers.kinds[kind.name]
        if kind.name == 'bool':
            declaration, value = 'logical', f'logical({arg}, c_bool)'
        if kind.name in WIDE:
            declaration, value = f'integer({self.int_kind})', f'int({arg}, c_int64_t)'
        self.declared.append(f'{declaration}, intent(in) :: {arg}')
        self.passed.append(value + (' - 1' if arg in self.indices else ''))

    def array(self, arg, kind, optional):
        intent = 'in' if kind.const else 'inout' if arg == 'x' else 'out'
        declaration = f'real({self.real_kind})' if arg in self.numbers else self.headers.kinds[kind.name]
        opened = ', optional' if optional and arg not in self.numbers else ''
        dims = f'({kind.dims[0]})' if kind.dims else '(:)' if arg in self.indices else '(..)'
        whole = '' if kind.dims else ', contiguous'
        if kind.const and (arg in self.indices or kind.name in WIDE):
            given = f'integer({self.int_kind})' if kind.name in WIDE else declaration
            self.declared.append(f'{given}, intent(in){opened} :: {arg}{dims}')
            self.locals.append(f'{declaration}, allocatable, target :: {arg}_c(:)')
            kind_of = 'c_int64_t' if kind.name in WIDE else 'c_int32_t'
            shift = ' - 1' if arg in self.indices else ''
            return self.address(arg, f'{arg}_c', optional, [f'allocate({arg}_c, source=int({arg}, {kind_of}){shift})'])
        self.by_address(arg, f'{declaration}, intent({intent}), target{whole}{opened}', bool(opened), dims)
        if arg in self.indices:
            self.after.append(f'if (present({arg})) {arg} = {arg} + 1' if opened else f'{arg} = {arg} + 1')

    def checks(self):
        dummies = dict(self.dummies)
        if self.c_name in TYPES and self.real_kind:
            self.before += [f'if (.not. kinds_agree("{self.name}", {TYPES[self.c_name]}, {REALS[self.real_kind]})) then',
                            '  returned = KRY_ERR_TYPE', '  return', 'end if']
        for arg, needed in EXTENTS.get(self.c_name, {}).items():
            there = f'present({arg})' if dummies[arg] and arg not in self.numbers else ''
            check = f'if (.not. suffices("{self.name}", "{arg}", size({arg}, kind=c_int64_t), int({needed}, c_int64_t))) then'
            lines = [check, '  returned = KRY_ERR_SHAPE', '  return', 'end if']
            self.before += [f'if ({there}) then', *(f'  {line}' for line in lines), 'end if'] if there else lines
        for arg, limit in LIMITS.get(self.c_name, {}).items():
            count, indices = EXTENTS[self.c_name][arg], arg
            if arg == 'row_ptr':  # of which the first alone says from where it counts
                count, indices = 'min(1, size(row_ptr))', 'int(row_ptr(:min(1, size(row_ptr))), c_int32_t)'
            self.before += [f'if (.not. within("{self.name}", "{arg}", {indices}, int({count}, c_int64_t), int({limit}, c_int64_t))) then',
                            '  returned = KRY_ERR_ARGUMENT', '  return', 'end if']

    def call(self, call):
        kind = self.returned
        if kind.name == 'void' and not kind.stars:
            return [f'call {call}'], 'subroutine'
        if kind.name == 'char':
            declared, lines = 'character(len=:), allocatable :: returned', [f'returned = kry_text({call})']
        elif kind.name in self.headers.handles:
            declared, lines = f'type({fortran(kind.name)}) :: returned', [f'returned%ptr = {call}']
        elif kind.stars and kind.name in self.headers.structs:
            self.locals.append('type(c_ptr) :: returned_c')
            declared = f'type({kind.name}), pointer :: returned'
            lines = ['nullify(returned)', f'returned_c = {call}', 'if (c_associated(returned_c)) call c_f_pointer(returned_c, returned)']
        elif kind.name in self.headers.structs:
            declared, lines = f'type({kind.name}) :: returned', [f'returned = {call}']
        elif kind.stars or kind.name in HANDLES:
            declared, lines = 'type(c_ptr) :: returned', [f'returned = {call}']
        elif kind.name == 'bool':
            declared, lines = 'logical :: returned', [f'returned = {call}']
        else:
            shift = ' + 1' if 'returned' in self.indices else ''
            declared, lines = f'{self.headers.kinds[kind.name]} :: returned', [f'returned = {call}{shift}']
        if self.name in ('kry_device_open', 'kry_device_open_timed'):
            self.before.append('call kry_messages_count_from(1)')
        self.declared.append(declared)
        return lines, 'function'


def module(headers):
    written = [Function(headers, name, node).text() for name, node in headers.functions.items()
               if name not in BY_HAND]
    hand = Path(__file__).with_name('by_hand.f90').read_text()
    names = [*map(fortran, headers.handles), *headers.structs, *headers.enumerators, *headers.function_types,
             *(name.removesuffix('_sized') for name in headers.functions), 'kry_text', 'kry_check', 'kry_team_of_mpi']
    assert len({name.lower() for name in names}) == len(names), 'Fortran does not tell two names apart'
    yield '! kry.f90 - kry for Fortran. Made from kry\'s headers by bindings/fortran/module.py: their comments explain it.\n'
    yield 'module kry\n  use, intrinsic :: iso_c_binding\n  implicit none\n  private\n'
    yield ''.join(f'  public :: {name}\n' for name in names)
    yield ''.join(f'  integer(c_int), parameter :: {name} = {value}\n' for name, value in headers.enumerators.items())
    yield from types(headers)
    yield '  abstract interface\n'
    yield from (interface_of(headers, name, node, callback=True) for name, node in headers.function_types.items())
    yield '  end interface\n  interface\n'
    yield from (interface_of(headers, f'c_{name}', node) for name, node in headers.functions.items() if name != 'kry_fail')
    yield '  end interface\n'
    yield from (interface for interface, _ in written)
    yield hand.replace('  ! FUNCTIONS\n', ''.join(procedures for _, procedures in written))


# ---- layout ----

def layout(headers):
    """For each struct its size, for each component its offset and its size: by Fortran, and by C."""
    ours, theirs = [], []
    for name, decls in headers.structs.items():
        fields = [decl.name for decl in decls if decl.name != 'struct_size']
        lines = [f'    call compare("{name}", c_sizeof(s))']
        lines += [f'    call compare("{name}%{f}", address(c_loc(s%{f})) - address(c_loc(s)))\n'
                  f'    call compare("size of {name}%{f}", storage_size(s%{f}, c_size_t) / 8 * {count(headers, decls, f)})' for f in fields]
        ours.append(f'  subroutine {name[4:]}()\n    type({name}), target :: s\n' + '\n'.join(lines) + '\n  end subroutine\n')
        theirs += [f'sizeof({name})', *(text for f in fields for text in
                                        (f'offsetof({name}, {f})', f'sizeof((({name} *)0)->{f})'))]
    subroutines = ''.join(f'    call {name[4:]}()\n' for name in headers.structs)
    yield ('! layout.f90 - the types of kry.f90, component by component, for test_fortran.f90\nmodule layout\n  use kry\n'
           '  use, intrinsic :: iso_c_binding\n  implicit none\n  private\n  public :: layout_differs\n  integer(c_int) :: at\n'
           '  logical :: differs\n  interface\n    function layout_of_c(i) bind(c) result(number)\n      import\n'
           '      integer(c_int), value :: i\n      integer(c_size_t) :: number\n    end function\n  end interface\ncontains\n'
           '  logical function layout_differs()\n    at = 0\n    differs = .false.\n' + subroutines +
           '    call compare("the end", 0_c_size_t)\n    layout_differs = differs\n  end function\n'
           '  subroutine compare(what, number)\n    character(len=*), intent(in) :: what\n    integer(c_size_t), intent(in) :: number\n'
           '    if (number /= layout_of_c(at)) then\n      print "(3a,i0,a,i0)", "# ", what, ": ", number, ", in C ", layout_of_c(at)\n'
           '      differs = .true.\n    end if\n    at = at + 1\n  end subroutine\n'
           '  integer(c_size_t) function address(p)\n    type(c_ptr), intent(in) :: p\n    address = transfer(p, address)\n  end function\n'
           + ''.join(ours) + 'end module\n')
    yield ('/* layout.c - the structs of the headers, for layout.f90 */\n#include <stddef.h>\n#include <kry/opencl.h>\n\n'
           'size_t layout_of_c(int i);\nsize_t layout_of_c(int i)\n{\n    static const size_t numbers[] = {\n'
           + ''.join(f'        {text},\n' for text in theirs) + '        0\n    };\n    return numbers[i];\n}\n')


def count(headers, decls, name):
    dims = next(headers.type(decl.type).dims for decl in decls if decl.name == name)
    return dims[0] if dims else '1'


def main(include, *paths):
    headers = Headers(include)
    for path, text in zip(paths, (''.join(module(headers)), *layout(headers))):
        Path(path).write_text(re.sub(r'[ \t]+\n', '\n', text))


main(*sys.argv[1:])
