function varargout = size (a, varargin)
  % size (a), size (a, dim), [m, n] = size (a)   Rows and columns. Known at once: nothing waits.
  if ~isobject (a)
    [varargout{1:max(nargout, 1)}] = on_host ('size', a, varargin{:});
    return;
  end
  s = kry_mex ('info', a.h);
  s = s(1:2);
  if nargin > 1
    for k = 1:numel (varargin), varargin{k} = reshape (double (varargin{k}), 1, []); end
    dim = [varargin{:}];
    if any (dim < 1 | dim ~= fix (dim)), error ('kry:argument', 'size: DIM must be a whole number from 1 on'); end
    all_of_them = [s, ones(1, max ([dim, 2]) - 2)];
    varargout{1} = all_of_them(dim);
    if nargout > 1, varargout = num2cell (varargout{1}); end
  elseif nargout < 2
    varargout{1} = s;
  else
    varargout = num2cell ([s, ones(1, nargout - 2)]);
  end
end

%!test
%! a = gpuMatrix (ones (2, 3));
%! assert (size (a), [2 3]);
%! assert (size (a, 2), 3);
%! assert (size (a, 3), 1);
%! [m, n, k] = size (a);
%! assert ([m n k], [2 3 1]);
%! assert (size (a, [1 3]), [2 1]);
%! [m, k] = size (a, 1, 3);
%! assert ([m k], [2 1]);
%! assert (size (a, gpuMatrix (2)), 3);
%! assert (size (a, gpuMatrix ([2 3])), [3 1]);
%! assert (size (ones (4, 5), gpuMatrix (2)), 5);
%!error id=kry:argument size (gpuMatrix (1), 0)
