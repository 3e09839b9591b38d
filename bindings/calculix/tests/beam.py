"""beam.py ELEMENT STEP SOLVER [LENGTH WIDTH HEIGHT] - the input of CalculiX for a beam of steel, of elements of edge 1

ELEMENT is C3D8, C3D20R or another name of hexahedra of 8 or 20 nodes. STEP is linear or nonlinear, for a load at one end while
the other is held; or heat, which flows from one end to the other."""
import sys

element, step, solver = sys.argv[1:4]
length, width, height = map(int, sys.argv[4:7] or (12, 3, 3))
corners = [(x, y, z) for z in (0, 2) for x, y in ((0, 0), (2, 0), (2, 2), (0, 2))]
bottom = [(1, 0, 0), (2, 1, 0), (1, 2, 0), (0, 1, 0)]
middles = bottom + [(x, y, 2) for x, y, _ in bottom] + [(x, y, 1) for x, y, _ in corners[:4]]
places = corners + (middles if '20' in element else [])  # in half edges
nodes, elements = {}, []
for x in range(0, 2 * length, 2):
    for y in range(0, 2 * width, 2):
        for z in range(0, 2 * height, 2):
            elements.append([nodes.setdefault((x + dx, y + dy, z + dz), len(nodes) + 1) for dx, dy, dz in places])

print('*NODE, NSET=ALL')
for (x, y, z), node in nodes.items():
    print(f'{node}, {x / 2}, {y / 2}, {z / 2}')
print(f'*ELEMENT, TYPE={element}, ELSET=BODY')
for i, of in enumerate(elements, 1):
    print(', '.join(map(str, [i] + of[:10])) + (',' if of[10:] else ''))
    if of[10:]:
        print(', '.join(map(str, of[10:])))
for name, end in (('HELD', 0), ('END', 2 * length)):
    print(f'*NSET, NSET={name}', *(node for (x, _, _), node in nodes.items() if x == end), sep='\n')
print('*MATERIAL, NAME=STEEL', '*ELASTIC', '210000, 0.3', '*CONDUCTIVITY', '50', '*SOLID SECTION, ELSET=BODY, MATERIAL=STEEL', sep='\n')
print(*{
    'linear': ['*BOUNDARY', 'HELD, 1, 3', '*STEP', f'*STATIC, SOLVER={solver}', '*CLOAD', 'END, 3, 1', 'END, 2, 0.5'],
    'nonlinear': ['*BOUNDARY', 'HELD, 1, 3', '*STEP, NLGEOM', f'*STATIC, SOLVER={solver}', '0.25, 1', '*CLOAD', 'END, 3, 300'],
    'heat': ['*INITIAL CONDITIONS, TYPE=TEMPERATURE', 'ALL, 0', '*BOUNDARY', 'HELD, 11, 11, 20', '*STEP',
             f'*HEAT TRANSFER, STEADY STATE, SOLVER={solver}', '*CFLUX', 'END, 11, 3'],
}[step], '*NODE PRINT, NSET=ALL', 'NT' if step == 'heat' else 'U', '*END STEP', sep='\n')
