function z = reshape (a, varargin)
  % reshape (a, m, n), reshape (a, [m n]), reshape (a, [], n)   The same numbers in another shape, on the device
  %
  % Queued: returns at once. Of sparse matrices by the host. Shapes of more than two dimensions stay on the host.
  %
  % Example:
  %   gather (reshape (gpuMatrix (1:6), 2, []))
  h = 0;
  if isobject (a)
    s = new_shape (numel (a), varargin);
    if numel (s) == 2, h = kry_mex ('reshape', a.h, s(1), s(2)); end
  end
  if h == 0, z = via_host ('reshape', a, varargin{:}); else, z = gpuMatrix (h, 'handle'); end
end

function s = new_shape (count, sizes)
  % Rows and columns; [] where the host has to look at the sizes
  for k = 1:numel (sizes), sizes{k} = double (sizes{k}); end
  missing = cellfun (@isempty, sizes);
  if numel (sizes) == 2 && sum (missing) == 1
    sizes{missing} = count / sizes{~missing};
  end
  s = [sizes{:}];
  while numel (s) > 2 && s(end) == 1, s(end) = []; end
  if any (missing & numel (sizes) == 1) || any (s < 0 | s ~= fix (s)) || prod (s) ~= count, s = []; end
end

%!test
%! A = rand (4, 6); a = gpuMatrix (A);
%! assert (gather (reshape (a, 3, 8)), reshape (A, 3, 8));
%! assert (gather (reshape (a, [8 3])), reshape (A, 8, 3));
%! assert (gather (reshape (a, [], 2)), reshape (A, [], 2));
%! assert (gather (reshape (a, 2, [])), reshape (A, 2, []));
%! assert (gather (reshape (a, 2, 12, 1)), reshape (A, 2, 12));
%! assert (reshape (a, 2, 3, 4), reshape (A, 2, 3, 4));
%! assert (gather (reshape (a, gpuMatrix (3), 8)), reshape (A, 3, 8));
%! assert (size (reshape (gpuMatrix (zeros (0, 3)), 3, 0)), [3 0]);
%! assert (gather (reshape (gpuMatrix (sparse (A)), 3, 8)), sparse (reshape (A, 3, 8)));
%! assert (reshape (1:4, gpuMatrix (2), 2), [1 3; 2 4]);
%!error <can't reshape 2x2 array to 3x3 array> reshape (gpuMatrix (ones (2)), 3, 3)
%!error <must be non-negative> reshape (gpuMatrix (ones (2)), -1, -4)
