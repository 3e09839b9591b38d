function [s, m] = std (varargin)
  % std (a), std (a, w), std (a, w, dim), [s, mean] = std (...)   Standard deviations: the roots of var (...)
  %
  % Example:
  %   gather (std (gpuMatrix ([1 2; 3 5])))
  if nargout < 2, v = var (varargin{:}); else, [v, m] = var (varargin{:}); end
  s = sqrt (v);
end

%!test
%! A = rand (5, 3);
%! assert (gather (std (gpuMatrix (A))), std (A), 4 * eps);
%! assert (gather (std (gpuMatrix (A), 1, 2)), std (A, 1, 2), 4 * eps);
