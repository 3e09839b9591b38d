function [z, at] = max (a, b, varargin)
  % max (a), max (a, [], dim), max (a, b)   The largest numbers, on the device
  %
  % Along the first axis that is longer than 1, or axis dim; or of each two numbers. NaN counts only
  % where there is nothing else. [z, at] = max (a, ...) is found on the host.
  %
  % Example:
  %   gather (max (gpuMatrix ([1 5; 7 2])))
  if nargin == 2
    z = each_pair ('max2', 'max', a, b);
  elseif nargout < 2 && nargin < 4 && (nargin == 1 || isequal (size (b), [0 0]))
    z = along ('max', 'max', a, {[]}, varargin{:});
  else
    args = {a};
    if nargin > 1, args = {a, b, varargin{:}}; end
    z = via_host ('max', args{:});
    if nargout > 1, [~, at] = on_host ('max', args{:}); end
  end
end

%!test
%! A = [1 5 NaN; 7 2 3];
%! assert (gather (max (gpuMatrix (A))), max (A));
%! assert (gather (max (gpuMatrix (A), [], 2)), max (A, [], 2));
%! assert (gather (max (gpuMatrix (A), 2)), max (A, 2));
%! assert (gather (max (gpuMatrix ([3 1 2]))), max ([3 1 2]));
%! [m, i] = max (gpuMatrix (A));
%! [M, I] = max (A);
%! assert (gather (m), M); assert (i, I);
%!test
%! % an axis behind the second, and one that there is not
%! assert (gather (max (gpuMatrix ([1 2; 3 4]), [], 3)), [1 2; 3 4]);
%! assert (gather (max (gpuMatrix ([1 2; 3 4]), [], gpuMatrix (2))), max ([1 2; 3 4], [], 2));
%! assert (gather (max (gpuMatrix (zeros (0, 3)))), max (zeros (0, 3)));
%! assert (gather (max ([1 5 3], gpuMatrix (2))), max ([1 5 3], 2));
%!error id=kry:argument max (gpuMatrix ([1 2]), [], -3)
%!error id=kry:argument max (gpuMatrix ([1 2]), [], 1.5)
