function varargout = gather (varargin)
  % gather (a), [x, y] = gather (a, b)   The numbers of a, on the host, in their own precision. Waits for them.
  %
  % Sparse matrices in single come as sparse double. Errors of work in the background are raised here.
  %
  % Example:
  %   x = gather (gpuMatrix ([1 2; 3 4]))
  for k = 1:nargin, varargout{k} = host_of (varargin{k}); end
end

%!assert (gather (gpuMatrix ([1 2; 3 4])), [1 2; 3 4])
%!test
%! [x, y, z] = gather (gpuMatrix (1), [2 3], gpuMatrix (4));
%! assert ({x, y, z}, {1, [2 3], 4});
%! assert (gather ([1 2] > 1), [false true]); % numbers of the host are what they are
%!test
%! % an error in the background
%! a = gpuMatrix ([1 2; 3 4]);
%! [b, u, p] = lu (gpuMatrix ([1 NaN; 2 3]));
%! fail ('gather (b)', 'is nan');
