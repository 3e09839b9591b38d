function n = numel (a, varargin)
  % numel (a)   How many numbers. Known at once: nothing waits.
  if nargin > 1, n = 1; return; end % what an index gives is one object
  s = kry_mex ('info', a.h);
  n = s(1) * s(2);
end

%!assert (numel (gpuMatrix (ones (2, 3))), 6)
