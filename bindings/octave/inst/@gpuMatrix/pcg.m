function varargout = pcg (varargin)
  % pcg (A, b, tol, maxit, M1, M2, x0, ...)   As Octave's pcg, where one of the matrices is a gpuMatrix
  %
  % [x, flag, relres, iter, resvec, eigest] = pcg (...). x is a gpuMatrix. See kry_pcg, which this is.
  [varargout{1:nargout}] = kry_pcg (varargin{:});
end

%!test
%! A = gpuMatrix (toeplitz (sparse ([2 -1 0 0 0])));
%! [x, flag] = pcg (A, ones (5, 1), 1e-10, 10);
%! assert (flag, 0);
%! assert (class (x), 'gpuMatrix');
%! assert (gather (A * x), ones (5, 1), 1e-9);
