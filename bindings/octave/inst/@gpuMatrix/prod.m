function z = prod (a, varargin)
  % prod (a), prod (a, dim)   Products along the first axis that is longer than 1, or axis dim; on the device
  %
  % Queued: returns at once. Of sparse and empty matrices, and with other options, by the host.
  %
  % Example:
  %   gather (prod (gpuMatrix ([1 2; 3 4])))
  z = along ('prod', 'prod', a, {}, varargin{:});
end

%!assert (gather (prod (gpuMatrix ([1 2; 3 4]))), [3 8])
%!assert (gather (prod (gpuMatrix ([1 2; 3 4]), 2)), [2; 12])
%!assert (gather (prod (gpuMatrix ([]))), 1)
%!assert (gather (prod (gpuMatrix (sparse ([1 2; 3 4])))), sparse ([3 8]))
%!error <DIM> prod (gpuMatrix ([1 2]), 0)
