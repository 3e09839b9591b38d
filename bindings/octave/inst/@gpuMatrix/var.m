function [v, m] = var (a, w, varargin)
  % var (a), var (a, w), var (a, w, dim), [v, mean] = var (...)   Variances; on the device
  %
  % Along the first axis that is longer than 1, or axis dim. w 0: divided by one less than the count; 1: by the
  % count. Queued: returns at once. Weights, sparse and empty matrices, and other options by the host.
  %
  % Example:
  %   gather (var (gpuMatrix ([1 2; 3 5])))
  if nargin < 2, w = 0; end
  if isempty (w), w = 0; end
  dim = 0;
  if nargin < 4, dim = statistics_axis (a, varargin{:}); end
  if dim && isscalar (w) && any (host_of (w) == [0 1]) && isreal (w)
    n = size (a, dim);
    m = reduced (a, 'sum', dim) ./ n;
    v = reduced ((a - m) .^ 2, 'sum', dim) ./ max (n - 1 + host_of (w), 1);
  elseif nargout < 2
    v = via_host ('var', a, w, varargin{:});
  else
    [v, m] = via_host ('var', a, w, varargin{:});
  end
end

%!test
%! A = rand (5, 3);
%! for w = [0 1]
%!   for dim = 1:3, assert (gather (var (gpuMatrix (A), w, dim)), var (A, w, dim), 4 * eps); end
%! end
%! assert (gather (var (gpuMatrix (A))), var (A), 4 * eps);
%! w = [1 2 3 4 5] / 15;
%! assert (gather (var (gpuMatrix (A(:, 1)), w)), var (A(:, 1), w), 4 * eps);
%! [v, m] = var (gpuMatrix (A));
%! assert (gather (m), mean (A), 4 * eps);
%! assert (gather (var (gpuMatrix (7))), 0);
%! assert (gather (var (gpuMatrix ([1 Inf; 2 3]))), var ([1 Inf; 2 3]));
%! assert (gather (var (gpuMatrix ([]))), var ([]));
