function varargout = size (a, dim)
  % size (a), size (a, dim), [m, n] = size (a)   Rows and columns. Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  s = s(1:2);
  if nargin > 1
    all = [s, ones(1, max ([dim(:); 2]) - 2)];
    varargout{1} = all(dim);
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
