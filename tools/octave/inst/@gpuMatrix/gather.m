function x = gather (a)
  % gather (a)   The numbers of a, on the host, in their own precision. Waits for them.
  %
  % Sparse matrices in single come as sparse double. Errors of work in the background are raised here.
  %
  % Example:
  %   x = gather (gpuMatrix ([1 2; 3 4]))
  x = kry_mex ('get', a.h);
end

%!assert (gather (gpuMatrix ([1 2; 3 4])), [1 2; 3 4])
%!test
%! % an error in the background
%! a = gpuMatrix ([1 2; 3 4]);
%! [b, u, p] = lu (gpuMatrix ([1 NaN; 2 3]));
%! fail ('gather (b)', 'is nan');
