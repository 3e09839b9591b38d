function z = all (a, varargin)
  % all (a), all (a, dim)   Is none of the numbers zero? Along the first axis that is longer than 1, or axis dim
  %
  % Counted on the device; the result is logical, and on the host. Waits. Of sparse and empty matrices by the host.
  %
  % Example:
  %   all (gpuMatrix ([0 1; 0 1]))
  n = counted ('zeros', a, varargin{:});
  if isempty (n)
    z = on_host ('all', a, varargin{:});
  else
    z = n == 0;
  end
end

%!test
%! for A = {[0 1 NaN; 0 0 2], [0 0 0], [0; 1], 0, 3, [], zeros(0, 3), zeros(3, 0), sparse([0 1; 0 2])}
%!   a = gpuMatrix (full (A{1}));
%!   if issparse (A{1}), a = gpuMatrix (A{1}); end
%!   assert (all (a), all (A{1}));
%!   for dim = 1:3, assert (all (a, dim), all (A{1}, dim)); end
%! end
%! assert (class (all (gpuMatrix (1))), 'logical');
%!error <dimension> all (gpuMatrix ([1 2]), -1)
