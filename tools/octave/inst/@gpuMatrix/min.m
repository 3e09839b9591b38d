function [z, at] = min (a, b, dim)
  % min (a), min (a, [], dim), min (a, b)   The least numbers, on the device
  %
  % Along the first axis that is longer than 1, or axis dim; or of each two numbers. NaN counts only
  % where there is nothing else. [z, at] = min (a, ...) is found on the host.
  %
  % Example:
  %   gather (min (gpuMatrix ([1 5; 7 2])))
  if nargin == 2
    z = pairs (a, b);
    return;
  end
  if nargin > 2 && ~isempty (b), error ('kry:argument', 'min: two matrices and a dimension do not go together'); end
  s = kry_mex ('info', a.h);
  if nargin < 3, dim = first_axis (s); end
  if nargout > 1 || s(4) || any (s(1:2) == 0)
    [z, at] = min (gather (a), [], dim);
    z = gpuMatrix (z);
    return;
  end
  z = reduced (a, 'min', dim);
end

function z = pairs (a, b)
  if isobject (a), z = a; p = a.h; else, p = a; z = b; end
  if isobject (b), q = b.h; else, q = b; end
  h = kry_mex ('min2', p, q);
  if h == 0, z = by_host (@min, a, b); return; end
  z = gpuMatrix (h, 'handle');
end

%!test
%! A = [1 5 NaN; 7 2 3];
%! assert (gather (min (gpuMatrix (A))), min (A));
%! assert (gather (min (gpuMatrix (A), [], 2)), min (A, [], 2));
%! assert (gather (min (gpuMatrix (A), 2)), min (A, 2));
%! assert (gather (min (gpuMatrix ([3 1 2]))), min ([3 1 2]));
%! [m, i] = min (gpuMatrix (A));
%! [M, I] = min (A);
%! assert (gather (m), M); assert (i, I);
