function [z, at] = min (a, b, varargin)
  % min (a), min (a, [], dim), min (a, b)   The least numbers, on the device
  %
  % Along the first axis that is longer than 1, or axis dim; or of each two numbers. NaN counts only
  % where there is nothing else. [z, at] = min (a, ...) is found on the host.
  %
  % Example:
  %   gather (min (gpuMatrix ([1 5; 7 2])))
  if nargin == 2
    z = each_pair ('min2', 'min', a, b);
  elseif nargout < 2 && nargin < 4 && (nargin == 1 || isequal (size (b), [0 0]))
    z = along ('min', 'min', a, {[]}, varargin{:});
  else
    args = {a};
    if nargin > 1, args = {a, b, varargin{:}}; end
    z = via_host ('min', args{:});
    if nargout > 1, [~, at] = on_host ('min', args{:}); end
  end
end

%!test
%! A = [1 5 NaN; 7 2 3];
%! assert (gather (min (gpuMatrix (A))), min (A));
%! assert (gather (min (gpuMatrix (A), [], 2)), min (A, [], 2));
%! assert (gather (min (gpuMatrix (A), 2)), min (A, 2));
%! assert (gather (min (gpuMatrix ([3 1 2]))), min ([3 1 2]));
%! [m, i] = min (gpuMatrix (A));
%! [M, I] = min (A);
%! assert (gather (m), M); assert (i, I);
%!test
%! % an axis behind the second, and one that there is not
%! assert (gather (min (gpuMatrix ([1 2; 3 4]), [], 3)), [1 2; 3 4]);
%! assert (gather (min (gpuMatrix ([1 2; 3 4]), [], gpuMatrix (2))), min ([1 2; 3 4], [], 2));
%! assert (gather (min (gpuMatrix (zeros (0, 3)))), min (zeros (0, 3)));
%! assert (gather (min ([1 5 3], gpuMatrix (2))), min ([1 5 3], 2));
%!error id=kry:argument min (gpuMatrix ([1 2]), [], -3)
%!error id=kry:argument min (gpuMatrix ([1 2]), [], 1.5)
