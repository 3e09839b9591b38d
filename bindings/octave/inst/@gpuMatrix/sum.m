function z = sum (a, varargin)
  % sum (a), sum (a, dim)   Sums along the first axis that is longer than 1, or axis dim; on the device
  %
  % Queued: returns at once. Of sparse and empty matrices, and with other options, by the host.
  %
  % Example:
  %   gather (sum (gpuMatrix ([1 2; 3 4])))
  z = along ('sum', 'sum', a, {}, varargin{:});
end

%!test
%! A = rand (37, 51);
%! assert (gather (sum (gpuMatrix (A))), sum (A), 1e-12);
%! assert (gather (sum (gpuMatrix (A), 2)), sum (A, 2), 1e-12);
%! assert (gather (sum (gpuMatrix (A(1, :)))), sum (A(1, :)), 1e-12);
%! assert (gather (sum (gpuMatrix (single (A)))), single (sum (A)), -1e-5);
%!test
%! % long
%! x = rand (100001, 1);
%! assert (gather (sum (gpuMatrix (x))), sum (x), 1e-8);
%!assert (gather (sum (gpuMatrix (zeros (0, 3)))), [0 0 0])
%!assert (gather (sum (gpuMatrix (zeros (3, 0)), 2)), [0; 0; 0])
%!assert (full (gather (sum (gpuMatrix (sparse ([1 2; 0 4]))))), [1 6])
%!assert (gather (sum (gpuMatrix ([]))), 0)
%!assert (gather (sum (gpuMatrix (zeros (0, 1)))), 0)
%!assert (gather (sum (gpuMatrix ([1 2]), 3)), [1 2])
%!assert (gather (sum (gpuMatrix ([1 2; 3 4]), gpuMatrix (2))), [3; 7])
%!error <DIM> sum (gpuMatrix ([1 2]), 0)
%!error <DIM> sum (gpuMatrix ([1 2]), 1.5)
