function z = dot (a, b, dim)
  % dot (x, y)   The product of two vectors, as a number of the host. Waits.
  %
  % Of matrices the sums of a .* b along their columns, or along axis dim: a gpuMatrix.
  %
  % Example:
  %   dot (gpuMatrix ([1 2 3]), [4 5 6])
  if isempty (a) || isempty (b)
    if nargin < 3, z = via_host ('dot', a, b); else, z = via_host ('dot', a, b, dim); end
  elseif nargin < 3 && isvector (a) && isvector (b) && ~issparse (a) && ~issparse (b)
    if isobject (a), p = a.h; else, p = a; end
    if isobject (b), q = b.h; else, q = b; end
    z = kry_mex ('dot', p, q);
  elseif ~isequal (size (a), size (b))
    error ('kry:size', 'dot: sizes do not agree: %dx%d and %dx%d', size (a), size (b));
  elseif nargin < 3
    z = sum (a .* b);
  else
    z = sum (a .* b, dim);
  end
end

%!test
%! x = rand (100, 1); y = rand (100, 1);
%! assert (dot (gpuMatrix (x), gpuMatrix (y)), x' * y, 1e-12);
%! assert (dot (gpuMatrix (x), y'), x' * y, 1e-12);
%! assert (gather (dot (gpuMatrix ([]), [])), zeros (1, 0));
%! assert (class (dot (gpuMatrix (single (x)), y)), 'single');
%! assert (gather (dot (gpuMatrix ([1 2; 3 4]), [5 6; 7 8])), dot ([1 2; 3 4], [5 6; 7 8]));
%! assert (gather (dot (gpuMatrix ([1 2; 3 4]), [5 6; 7 8], 2)), dot ([1 2; 3 4], [5 6; 7 8], 2));
%!error id=kry:size dot (gpuMatrix ([1 2 3]), [1 2])
%!error id=kry:size dot (gpuMatrix (ones (2, 3)), ones (3, 2))
