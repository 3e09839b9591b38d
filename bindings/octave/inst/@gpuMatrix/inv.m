function [x, rc] = inv (a)
  % inv (a), [x, rcond] = inv (a)   The inverse of a dense square matrix, by its LU factors
  %
  % A singular one gives the warning kry:singular and Inf everywhere, as Octave's. Waits for that, and
  % no more. A \ b is better than inv (A) * b. Of sparse matrices, and with NaN or Inf, by the host.
  %
  % Example:
  %   gather (inv (gpuMatrix ([2 0; 0 4])))
  if isempty (a) || issparse (a), [x, rc] = by_host (a, nargout); return; end
  if ~issquare (a), error ('kry:size', 'inv: argument must be a square matrix, not %dx%d', size (a)); end
  try
    rc = rcond_of (factors_of (a));
  catch err
    if ~strcmp (err.identifier, 'kry:argument'), rethrow (err); end
    [x, rc] = by_host (a, nargout); % of matrices with NaN or Inf
    return;
  end
  if is_tiny (rc, a) && nargout < 2, warn_singular (rc); end
  if rc == 0
    x = 1 ./ a; % the sign of 0 is that of the result
    if ~isscalar (a), x = gpuMatrix (Inf (size (a)), underlyingType (a)); end
  else
    x = gpuMatrix (kry_mex ('inv', a.h), 'handle');
  end
  if strcmp (underlyingType (a), 'single'), rc = single (rc); end
end

function [x, rc] = by_host (a, count)
  rc = NaN;
  if count < 2, x = via_host ('inv', a); else, [x, rc] = via_host ('inv', a); rc = gather (rc); end
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
%! warning ('off', 'all', 'local');
%! assert (gather (inv (gpuMatrix (-0))), -Inf);
%! assert (gather (inv (gpuMatrix ([1 NaN; 2 3]))), inv ([1 NaN; 2 3]));
%!warning id=kry:singular inv (gpuMatrix ([1 2; 2 4]));
%!test
%! warning ('off', 'all', 'local');
%! assert (gather (inv (gpuMatrix ([1 2; 2 4]))), Inf (2));
%!error id=kry:size inv (gpuMatrix (ones (2, 3)))
