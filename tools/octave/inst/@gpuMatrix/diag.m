function z = diag (a, k)
  % diag (a), diag (a, k)   The k-th diagonal of a matrix, or a matrix with a vector on it
  %
  % Diagonals of dense matrices are taken on the device; the rest is done by the host.
  if nargin < 2, k = 0; end
  h = kry_mex ('diag', a.h, k);
  if h == 0, z = by_host (@(x) diag (x, k), a); return; end
  z = gpuMatrix (h, 'handle');
end

%!test
%! A = rand (4, 6);
%! for k = -4:6, assert (gather (diag (gpuMatrix (A), k)), diag (A, k)(:)); end
%! assert (gather (diag (gpuMatrix (A'))), diag (A'));
%! assert (full (gather (diag (gpuMatrix ([1 2 3])))), diag ([1 2 3]));
%! assert (gather (diag (gpuMatrix (sparse (A)))), diag (sparse (A)));
