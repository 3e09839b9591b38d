function z = exp (a)
  % exp (a)   Exponentials, on the device
  %
  % Example:
  %   gather (exp (gpuMatrix ([-1 2])))
  h = kry_mex ('exp', a.h);
  z = a;
  if h == 0, z = by_host (@exp, a); return; end
  z.h = h;
  z.guard = onCleanup (@() kry_mex ('free', h));
end

%!assert (gather (exp (gpuMatrix ([-1 2; 0 3]))), exp ([-1 2; 0 3]), 4 * eps (20))
%!assert (full (gather (exp (gpuMatrix (sparse ([-1 2; 0 3]))))), exp ([-1 2; 0 3]), 4 * eps (20))
