function z = abs (a)
  % abs (a)   Absolute values, on the device
  %
  % Example:
  %   gather (abs (gpuMatrix ([-1 2])))
  h = kry_mex ('abs', a.h);
  z = a;
  if h == 0, z = by_host (@abs, a); return; end
  z.h = h;
  z.guard = onCleanup (@() kry_mex ('free', h));
end

%!assert (gather (abs (gpuMatrix ([-1 2; 0 3]))), abs ([-1 2; 0 3]), 4 * eps (20))
%!assert (full (gather (abs (gpuMatrix (sparse ([-1 2; 0 3]))))), abs ([-1 2; 0 3]), 4 * eps (20))
