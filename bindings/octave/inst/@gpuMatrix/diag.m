function z = diag (a, k, varargin)
  % diag (a), diag (a, k), diag (v, m, n)   The k-th diagonal of a matrix, or a matrix with a vector on it
  %
  % Diagonals of dense matrices are taken on the device; the rest is done by the host.
  if nargin < 2, k = 0; end
  h = 0;
  if nargin < 3 && isobject (a) && isnumeric (k) && isscalar (k), h = kry_mex ('diag', a.h, host_of (k)); end
  if h == 0, z = via_host ('diag', a, k, varargin{:}); else, z = gpuMatrix (h, 'handle'); end
end

%!test
%! A = rand (4, 6);
%! for k = -4:6, assert (gather (diag (gpuMatrix (A), k)), diag (A, k)(:)); end
%! assert (gather (diag (gpuMatrix (A'))), diag (A'));
%! assert (full (gather (diag (gpuMatrix ([1 2 3])))), diag ([1 2 3]));
%! assert (gather (diag (gpuMatrix (sparse (A)))), diag (sparse (A)));
