#!/usr/bin/env python3
"""null_arguments.py HEADERS > calls.c - every public function with NULL for all of its pointers, and for each of
them alone; and, if WRONG is 1, with wrong values for one argument after the other, and for some at once. For
tests/api/test_null_arguments.c. Functions come from the headers, so none can be missing."""
import random
import re
import sys

# What a call is made with, by type, or by name where that says more. A new type wants a line here.
BY_TYPE = {
    'kry_device *': 'dev', 'kry_device **': '&out.dev', 'kry_device *const *': '&dev', 'kry_device_info **': '&out.info',
    'kry_vec *': 'vec[{i}]', 'kry_vec **': '&out.vec', 'kry_op *': 'A', 'kry_op **': '&out.op',
    'kry_queue *': 'queue', 'kry_queue **': '&out.queue', 'kry_task *': 'task', 'kry_task **': '&out.task',
    'kry_task *const *': '&task', 'kry_sum *': 'sum', 'kry_sum **': '&out.sum', 'kry_mtx *': 'mtx',
    'kry_mtx **': '&out.mtx', 'kry_share *': '&share', 'kry_share **': '&out.share_of', 'kry_problem *': 'problem', 'kry_problem **': '&out.problem', 'kry_probe *': '&out.probe',
    'kry_op_info *': '&out.op_info', 'kry_level_info *': '&out.level', 'kry_result *': '&out.result', 'kry_eigen_result *': '&out.eigen', 'kry_word *': 'NULL',
    'kry_task_progress_info *': '&out.progress', 'kry_launch_shape *': '&shape', 'kry_side_values': 'sides',
    'kry_op_shape *': '&op_shape', 'kry_op_table *': '&table', 'kry_job *': '&job', 'kry_host_block *': '&block',
    'kry_arg *': 'args', 'kry_stop *': '&stop', 'kry_transport *': '&transport', 'kry_rank_facts *': '&out.facts',
    'FILE **': '&out.file', 'kry_stencil_info *': '&out.grid', 'kry_report *': 'report', 'kry_report **': '&out.report', 'kry_report_part': 'KRY_REPORT_READ',
    'kry_part_volume *': 'out.volume', 'kry_stencil_box *': '&out.box', 'kry_systems_report *': '&out.systems', 'kry_systems *': 'systems', 'kry_systems **': '&out.solver', 'kry_systems_end *': 'NULL',
    'kry_systems_result *': '&out.all_systems', 'kry_systems_verdict': 'KRY_SYSTEMS_SOLVED', 'kry_batch_share *': 'out.share',
    'cl_kernel *': '&out.kernel', 'cl_mem': 'NULL', 'cl_context': 'NULL', 'cl_device_id': 'NULL', 'cl_kernel': 'NULL',
    'cl_command_queue': 'NULL', 'kry_monitor': 'NULL', 'kry_trace *': 'NULL', 'void *': 'numbers',
    'double *': 'numbers', 'int64_t *': 'places', 'int32_t *': 'columns', 'char *': 'text', 'char **': '&out.text', 'int *': '&out.count',
    'bool *': '&out.flag', 'bool': 'false', 'kry_type': 'KRY_F32', 'kry_status': 'KRY_OK',
    'kry_reason': 'KRY_CONVERGED', 'kry_scheme': '(kry_scheme)0', 'kry_format': 'KRY_FORMAT_CSR', 'unsigned': '0',
    'double': '1', 'uint64_t': '1', 'int64_t': '1', 'int': '1', 'size_t': 'sizeof text',
}
BY_NAME = {'path': '"/nonexistent/file"', 'n': 'N', 'rows': 'N', 'cols': 'N', 'nnz': 'N', 'size[3]': 'places',
           'block[3]': 'places', 'blocks[3]': 'NULL', 'i': '0', 'j': '0', 'row': None, 'first_row': '0', 'spec': '"poisson2d:4"', 'name': '"none"',
           'options': '"method=pcg"', 'method': '"minres"', 'user': 'NULL', 'monitor_user': 'NULL', 'comment': '"comment"'}
# NULL is allowed: the header says what it means.
OPTIONAL = {'params', 'user', 'monitor', 'monitor_user', 'result', 'comment', 'guess', 'phase', 'trace'}
OPTIONAL_OF = set('''kry_op_update.values kry_op_set_null_space.vectors kry_op_set_near_null_space.vectors
    kry_lu_factors.L kry_lu_factors.U kry_problem_rows.rhs kry_problem_rows.solution
    kry_lu_factors.row_order kry_vec_rref.pivot_columns kry_task_wait_for.ended kry_queue_create.device
    kry_queue_create.name kry_solver_create.options kry_task_solver.options kry_device_open.spec kry_device_open_timed.spec
    kry_op_create.self kry_systems_check.report kry_vec_rref.rank kry_device_set_launch_shape.shape kry_device_kernel.source
    kry_device_kernel.options kry_vec_part.first kry_vec_rows_here.first kry_task_read.task kry_task_apply.task
    kry_task_solve.task kry_task_solver.task kry_task_write.task kry_task_submit.task kry_share_components.left_out
    kry_systems_create.row_ptr kry_systems_create.col kry_output_check.all kry_output_differs.all kry_output_differs.path kry_output_differs.other'''.split())
# Whose arguments are no more than words, or which a caller's function gets into its hands.
LEFT_OUT = {'kry_fail', 'kry_report_monitor'}

# Wrong values, by type. Sizes that are too large only go to functions without arrays, which end where they end.
HUGE = {'int64_t': 'INT64_MAX', 'int': 'INT_MAX', 'uint64_t': 'UINT64_MAX'}
WRONG = {
    'kry_device *': ['other.dev', 'other.team'], 'kry_vec *': ['other.vec', 'other.longer', 'other.wide', 'other.wider_type', 'other.on_team', 'vec[0]'],
    'kry_op *': ['other.op', 'other.rectangular', 'other.solver', 'other.on_team_op'], 'kry_sum *': ['other.sum'],
    'int64_t': ['-1', 'INT64_MIN', '0'], 'int': ['-1', 'INT_MIN', '0'], 'double': ['NAN', '-INFINITY', '-1'], 'unsigned': ['~0u'],
    'char *': ['""', '"%s%n:=,"', '"\\x01\\xff"'], 'kry_op_shape *': ['&wrong_shape[0]', '&wrong_shape[1]', '&wrong_shape[2]', '&wrong_shape[3]'],
    'kry_stop *': ['&wrong_stop[0]', '&wrong_stop[1]', '&wrong_stop[2]'],
    'kry_mtx *': ['&wrong_mtx[0]', '&wrong_mtx[1]', '&wrong_mtx[2]', '&wrong_mtx[3]'], 'int64_t *': ['falling'], 'int32_t *': ['outside'],
}
ENUMS = {'kry_type', 'kry_status', 'kry_reason', 'kry_scheme', 'kry_format', 'kry_report_part'}
# They write to their text, to a file that is to be closed, or to what others read.
NOT_WRONG = {'kry_tuning_path', 'kry_word_hint', 'kry_output_open', 'kry_solver_get_stop'}


def functions(path):
    text = re.sub(r'/\*.*?\*/', '', open(path).read(), flags=re.S)
    text = re.sub(r'^\s*#(.*\\\n)*.*$', '', text, flags=re.M)
    for found in re.finditer(r'KRY_API\s+(?:KRY_MUST_CHECK\s+)?([^;]*?)(\w+)\(((?:[^()]|\([^()]*\))*)\)[^;]*;', text):
        result, name, inside = (' '.join(part.split()) for part in found.groups())
        params = re.split(r',(?![^(]*\))', inside)
        if name.endswith('_sized'):  # called by the function that a program calls, which adds the size
            name, params = name.removesuffix('_sized'), params[:-1]
        yield result, name, params


def parameter(text):
    """(type without const, name)"""
    text = text.strip()
    if '(*' in text:
        return 'function', re.search(r'\(\*(\w+)', text).group(1)
    type_name, name = re.fullmatch(r'(.*?)(\w+(?:\[\w+\])?)', text).groups()
    type_name = re.sub(r'^const ', '', type_name).strip()
    if '[' in name and not type_name.startswith('kry_side'):
        type_name += ' *'
    return type_name, name


def sample(function, i, type_name, name):
    if type_name == 'function':
        return 'NULL'
    if type_name.endswith('params *'):
        return 'NULL'
    value = BY_NAME.get(name) or BY_TYPE.get(type_name)
    if function == 'kry_tuning_path' and name == 'path':
        value = 'text'  # written to
    if value is None:
        sys.exit(f'null_arguments.py: {function}: no sample of the type {type_name} for {name}: add one')
    return value.format(i=i)


def wrong_values(type_name, arrays):
    if type_name in ENUMS:
        return [f'({type_name})-1', f'({type_name})77']
    if type_name.endswith('params *'):
        return ['(void *)zeros']
    return WRONG.get(type_name, []) + ([HUGE[type_name]] if type_name in HUGE and not arrays else [])


def print_call(result, name, what, required, args, params):
    """with the handle that is to be NULL after a failure"""
    handle = [a for a, (t, _) in zip(args, params) if t.endswith('**') and a.startswith('&out.')]
    kind = 'STATUS' if result == 'kry_status' else 'VOID'
    print(f'{kind}("{name}", "{what}", {int(required)}, {name}({", ".join(args)}), {handle[0] if handle else "NULL"})')


def print_wrong(result, name, params, given):
    arrays = any(t.endswith('*') and not t.endswith('params *') and not t.startswith(('kry_', 'char')) for t, _ in params)
    wrong = [wrong_values(t, arrays) for t, _ in params]
    for i, values in enumerate(wrong):
        for value in values:
            print_call(result, name, params[i][1].split('[')[0], False, given[:i] + [value] + given[i + 1:], params)
    chance = random.Random(name)
    for _ in range(4 if sum(map(bool, wrong)) > 1 else 0):
        args = [chance.choice(w) if w and chance.random() < 0.5 else g for w, g in zip(wrong, given)]
        print_call(result, name, 'some', False, args, params)


def main():
    print('/* made by tests/api/null_arguments.py */\n#if !WRONG')
    wrong = []
    for path in sys.argv[1:]:
        for result, name, texts in functions(path):
            if name in LEFT_OUT:
                continue
            params = [parameter(t) for t in texts if t.strip() != 'void']
            given = [sample(name, i, *p) for i, p in enumerate(params)]
            if name not in NOT_WRONG and not name.endswith('_retain'):  # whose references nobody would give back
                wrong.append((result, name, params, given))
            pointer = [i for i, (t, _) in enumerate(params) if '*' in t or t in ('function', 'kry_side_values')]
            if not pointer:
                continue
            for alone in [None] + (pointer if len(pointer) > 1 else []):
                args = ['NULL' if i in pointer and alone in (None, i) else value for i, value in enumerate(given)]
                what = 'all' if alone is None else params[alone][1].split('[')[0]
                optional = what in OPTIONAL or f'{name}.{what}' in OPTIONAL_OF or alone is not None and given[alone] == 'NULL'
                print_call(result, name, what, not optional, args, params)
    print('#else')
    for each in wrong:
        print_wrong(*each)
    print('#endif')


main()
