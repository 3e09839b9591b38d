function z = mean (a, varargin)
  % mean (a), mean (a, dim)   Means along the first axis that is longer than 1, or axis dim; on the device
  %
  % Queued: returns at once. Of sparse and empty matrices, and with other options, by the host.
  %
  % Example:
  %   gather (mean (gpuMatrix ([1 2; 3 4])))
  dim = statistics_axis (a, varargin{:});
  if dim, z = reduced (a, 'sum', dim) ./ size (a, dim); else, z = via_host ('mean', a, varargin{:}); end
end

%!test
%! A = rand (5, 3);
%! assert (gather (mean (gpuMatrix (A))), mean (A), 4 * eps);
%! assert (gather (mean (gpuMatrix (A), 2)), mean (A, 2), 4 * eps);
%! assert (gather (mean (gpuMatrix (A(1, :)))), mean (A(1, :)), 4 * eps);
%! assert (gather (mean (gpuMatrix (A), 3)), A);
%! assert (gather (mean (gpuMatrix ([]))), mean ([]));
%! assert (underlyingType (mean (gpuMatrix (single (A)))), 'single');
