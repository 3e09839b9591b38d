function n = issquare (a)
  % issquare (a)   Has a as many rows as columns?
  %
  % Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  n = s(1) == s(2);
end

%!assert (issquare (gpuMatrix (ones (2))), true)
