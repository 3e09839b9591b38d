function n = isempty (a)
  % isempty (a)   Has a no numbers?
  %
  % Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  n = s(1) == 0 || s(2) == 0;
end

%!assert (isempty (gpuMatrix ([])), true)
