function z = repmat (a, varargin)
  % repmat (a, m, n), repmat (a, [m n]), repmat (a, m)   m by n copies of a, on the device
  %
  % Queued: returns at once. Of sparse matrices by the host. More than two dimensions stay on the host.
  %
  % Example:
  %   gather (repmat (gpuMatrix ([1 2]), 2, 1))
  h = 0;
  if isobject (a) && any (nargin == [2 3])
    for k = 1:numel (varargin), varargin{k} = double (varargin{k}); end
    times = [varargin{:}];
    if nargin == 2 && isscalar (times), times = [times times]; end
    if numel (times) == 2 && all (times == fix (times)), h = kry_mex ('repmat', a.h, times(1), times(2)); end
  end
  if h == 0, z = via_host ('repmat', a, varargin{:}); else, z = gpuMatrix (h, 'handle'); end
end

%!test
%! A = rand (2, 3); a = gpuMatrix (A);
%! for t = {{2}, {3, 2}, {[1 4]}, {[1 0]}, {0}, {-1, 2}, {2, 2, 1}}
%!   assert (gather (repmat (a, t{1}{:})), repmat (A, t{1}{:}));
%! end
%! assert (gather (repmat (gpuMatrix (5), 3, 2)), 5 * ones (3, 2));
%! assert (gather (repmat (a, gpuMatrix (2), 1)), [A; A]);
%! assert (repmat (a, [1 1 2]), repmat (A, [1 1 2]));
%! assert (size (repmat (gpuMatrix (zeros (0, 2)), 2)), [0 4]);
%! assert (gather (repmat (gpuMatrix (sparse (A)), 2)), repmat (sparse (A), 2));
