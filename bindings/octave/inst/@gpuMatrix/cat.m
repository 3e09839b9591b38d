function z = cat (dim, varargin)
  % cat (dim, a, b, ...)   Matrices put together along axis dim
  %
  % On the device where all parts are dense and have numbers; else by the host. Queued: returns at once.
  %
  % Example:
  %   gather (cat (2, gpuMatrix ([1 2]), [3 4]))
  dim = host_of (dim);
  z = joined (@(varargin) via_host ('cat', dim, varargin{:}), dim, varargin{:});
end

%!test
%! A = rand (2, 3); B = rand (2, 3);
%! for dim = 1:2
%!   z = cat (dim, gpuMatrix (A), B);
%!   assert (class (z), 'gpuMatrix');
%!   assert (gather (z), cat (dim, A, B));
%! end
%! assert (cat (3, gpuMatrix (A), B), cat (3, A, B));
%! assert (gather (cat (gpuMatrix (1), A, B)), [A; B]);
%! assert (gather (cat (1, gpuMatrix (A), [], B)), [A; B]);
%! assert (underlyingType (cat (1, gpuMatrix (A), single (B))), 'single');
%!error <dimension mismatch> cat (1, gpuMatrix (ones (2, 3)), ones (2, 2))
