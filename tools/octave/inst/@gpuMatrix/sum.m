function z = sum (a, dim)
  % sum (a), sum (a, dim)   Sums along the first axis that is longer than 1, or axis dim; on the device
  %
  % Queued: returns at once. Of sparse matrices by the host.
  %
  % Example:
  %   gather (sum (gpuMatrix ([1 2; 3 4])))
  s = kry_mex ('info', a.h);
  if nargin < 2, dim = first_axis (s); end
  check_axis ('sum', dim);
  if s(4), z = by_host (@(x) sum (x, dim), a); return; end
  if dim > 2, z = a; return; end
  z = reduced (a, 'sum', dim);
end

%!test
%! A = rand (37, 51);
%! assert (gather (sum (gpuMatrix (A))), sum (A), 1e-12);
%! assert (gather (sum (gpuMatrix (A), 2)), sum (A, 2), 1e-12);
%! assert (gather (sum (gpuMatrix (A(1, :)))), sum (A(1, :)), 1e-12);
%! assert (gather (sum (gpuMatrix (single (A)))), single (sum (A)), -1e-5);
%!test
%! % long
%! x = rand (100001, 1);
%! assert (gather (sum (gpuMatrix (x))), sum (x), 1e-8);
%!assert (gather (sum (gpuMatrix (zeros (0, 3)))), [0 0 0])
%!assert (gather (sum (gpuMatrix (zeros (3, 0)), 2)), [0; 0; 0])
%!assert (full (gather (sum (gpuMatrix (sparse ([1 2; 0 4]))))), [1 6])
%!error <kry:argument|dimension> sum (gpuMatrix ([1 2]), 0)
