function n = norm (a, p, varargin)
  % norm (a), norm (a, p)   p: 1, 2, Inf or 'fro'; a number of the host. Waits.
  %
  % Vectors and p = 1, Inf and 'fro' of dense matrices on the device; everything else by the host.
  %
  % Example:
  %   norm (gpuMatrix ([3 4]))
  if nargin < 2, p = 2; end
  p = host_of (p);
  if ~isobject (a) || nargin > 2, n = on_host ('norm', a, p, varargin{:}); return; end
  s = kry_mex ('info', a.h);
  vector = any (s(1:2) == 1);
  if s(4) || any (s(1:2) == 0)
    n = norm (gather (a), p);
  elseif (isequal (p, 2) && vector) || isequal (p, 'fro')
    n = kry_mex ('norm2', a.h);
  elseif isequal (p, 1) || isequal (p, Inf) || (strcmpi (p, 'inf'))
    n = by_sums (a, p, vector);
  else
    n = norm (gather (a), p);
  end
end

function n = by_sums (a, p, vector)
  if vector && isequal (p, 1)
    n = reduced (a, 'sumabs', 0);
  elseif vector
    n = reduced (a, 'maxabs', 0);
  elseif isequal (p, 1)
    n = reduced (reduced (a, 'sumabs', 1), 'maxabs', 0);
  else
    n = reduced (reduced (a, 'sumabs', 2), 'maxabs', 0);
  end
  n = gather (n);
end

%!test
%! A = rand (9, 7) - 0.5; x = A(:);
%! for p = {1, 2, Inf, 'fro'}
%!   assert (norm (gpuMatrix (A), p{1}), norm (A, p{1}), 1e-12);
%!   assert (norm (gpuMatrix (x), p{1}), norm (x, p{1}), 1e-12);
%!   assert (norm (gpuMatrix (x'), p{1}), norm (x', p{1}), 1e-12);
%! end
%! assert (norm (gpuMatrix (x), 3), norm (x, 3), 1e-12);
%! assert (norm (gpuMatrix (sparse (A)), 1), norm (A, 1), 1e-12);
%! assert (class (norm (gpuMatrix (single (x)))), 'single');
%! assert (norm (gpuMatrix ([])), 0);
