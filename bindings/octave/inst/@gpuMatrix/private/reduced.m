function z = reduced (a, how, dim)
  % Sums and the like along an axis; dim 0: over all numbers
  h = kry_mex ('reduce', a.h, how, dim);
  z = a;
  z.h = h;
  z.guard = onCleanup (@() kry_mex ('free', h));
end
