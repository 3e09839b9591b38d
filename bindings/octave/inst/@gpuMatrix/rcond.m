function rc = rcond (a)
  % rcond (a)   An estimate of 1 / (norm (a, 1) * norm (inv (a), 1)): 0 if a is singular. Waits.
  if ~issquare (a), error ('kry:size', 'rcond: argument must be a square matrix, not %dx%d', size (a)); end
  if isempty (a), rc = Inf; return; end
  rc = rcond_of (factors_of (full (a)));
end

%!test
%! A = hilb (5);
%! assert (rcond (gpuMatrix (A)), rcond (A), -2);
%! assert (rcond (gpuMatrix ([1 2; 2 4])), 0);
