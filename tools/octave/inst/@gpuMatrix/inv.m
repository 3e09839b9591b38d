function [x, rc] = inv (a)
  % inv (a), [x, rcond] = inv (a)   The inverse of a dense square matrix, by Gauss-Jordan elimination
  %
  % A singular one gives the warning kry:singular and Inf everywhere, as Octave's. Waits for that, and
  % no more. A \ b is better than inv (A) * b. Of sparse matrices by the host.
  %
  % Example:
  %   gather (inv (gpuMatrix ([2 0; 0 4])))
  if ~issquare (a), error ('kry:size', 'inv: argument must be a square matrix, not %dx%d', size (a)); end
  if issparse (a)
    if nargout < 2, x = via_host ('inv', a); else, [x, rc] = via_host ('inv', a); rc = gather (rc); end
    return;
  end
  if isempty (a), x = a; rc = Inf; return; end
  rc = rcond_of (factors_of (a));
  if is_tiny (rc, a) && nargout < 2, warn_singular (rc); end
  if rc == 0
    x = gpuMatrix (Inf (size (a)), underlyingType (a));
  else
    x = gpuMatrix (kry_mex ('inv', a.h), 'handle');
  end
  if strcmp (underlyingType (a), 'single'), rc = single (rc); end
end

%!test
%! A = rand (20) + 20 * eye (20);
%! assert (gather (inv (gpuMatrix (A))), inv (A), 1e-13);
%! assert (gather (inv (gpuMatrix (single (A)))), single (inv (A)), 1e-6);
%! [x, rc] = inv (gpuMatrix (A));
%! assert (rc, rcond (A), -2);
%! [~, rc] = inv (gpuMatrix (single (A)));
%! assert (class (rc), 'single');
%! assert (isempty (inv (gpuMatrix ([]))));
%!warning id=kry:singular inv (gpuMatrix ([1 2; 2 4]));
%!test
%! warning ('off', 'all', 'local');
%! assert (gather (inv (gpuMatrix ([1 2; 2 4]))), Inf (2));
%!error id=kry:size inv (gpuMatrix (ones (2, 3)))
