function [z, at] = max (a, b, dim)
  % max (a), max (a, [], dim), max (a, b)   The largest numbers, on the device
  %
  % Along the first axis that is longer than 1, or axis dim; or of each two numbers. NaN counts only
  % where there is nothing else. [z, at] = max (a, ...) is found on the host.
  %
  % Example:
  %   gather (max (gpuMatrix ([1 5; 7 2])))
  if nargin == 2
    z = pairs (a, b);
    return;
  end
  if nargin > 2 && ~isempty (b), error ('kry:argument', 'max: two matrices and a dimension do not go together'); end
  s = kry_mex ('info', a.h);
  if nargin < 3, dim = first_axis (s); end
  if nargout > 1 || s(4) || any (s(1:2) == 0)
    [z, at] = max (gather (a), [], dim);
    z = gpuMatrix (z);
    return;
  end
  z = reduced (a, 'max', dim);
end

function z = pairs (a, b)
  if isobject (a), z = a; p = a.h; else, p = a; z = b; end
  if isobject (b), q = b.h; else, q = b; end
  h = kry_mex ('max2', p, q);
  if h == 0, z = by_host (@max, a, b); return; end
  z = gpuMatrix (h, 'handle');
end

%!test
%! A = [1 5 NaN; 7 2 3];
%! assert (gather (max (gpuMatrix (A))), max (A));
%! assert (gather (max (gpuMatrix (A), [], 2)), max (A, [], 2));
%! assert (gather (max (gpuMatrix (A), 2)), max (A, 2));
%! assert (gather (max (gpuMatrix ([3 1 2]))), max ([3 1 2]));
%! [m, i] = max (gpuMatrix (A));
%! [M, I] = max (A);
%! assert (gather (m), M); assert (i, I);
