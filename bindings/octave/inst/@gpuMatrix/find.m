function varargout = find (a, varargin)
  % find (a), [i, j, v] = find (a)   Where a is not zero: on the host, as Octave's find. Waits.
  [varargout{1:max (nargout, 1)}] = on_host ('find', a, varargin{:});
end

%!test
%! A = [0 2; 3 0];
%! assert (find (gpuMatrix (A)), find (A));
%! [i, j, v] = find (gpuMatrix (sparse (A)));
%! assert ([i j v], [2 1 3; 1 2 2]);
%! assert (find (gpuMatrix (A), 1), 2);
%! assert (find (A, gpuMatrix (1)), 2);
