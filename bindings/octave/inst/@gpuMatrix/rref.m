function [r, k] = rref (a, tol)
  % rref (a), rref (a, tol), [r, k] = rref (...)   The reduced row echelon form, by Gauss-Jordan elimination
  %
  % What is not larger than tol counts as zero; default: max (size (a)) * eps * norm (a, inf). k: the
  % columns with a pivot, on the host. Dense matrices; queued, but k is waited for.
  %
  % Example:
  %   gather (rref (gpuMatrix ([1 2 3; 2 4 7])))
  if nargin < 2, tol = 0; end
  tol = host_of (tol);
  if ~isobject (a), a = gpuMatrix (a); end
  if issparse (a), a = full (a); end
  if nargout > 1
    [h, k] = kry_mex ('rref', a.h, tol);
  else
    h = kry_mex ('rref', a.h, tol);
  end
  r = gpuMatrix (h, 'handle');
end

%!test
%! A = [1 2 3; 2 4 7; 3 6 10];
%! [r, k] = rref (gpuMatrix (A));
%! [R, K] = rref (A);
%! assert (gather (r), R, 1e-12); assert (k, K);
%! B = rand (4, 6);
%! assert (gather (rref (gpuMatrix (B))), rref (B), 1e-11);
%! assert (size (rref (gpuMatrix (zeros (0, 3)))), [0 3]);
