function n = issparse (a)
  % issparse (a)   Is a stored as a sparse matrix?
  %
  % Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  n = s(4) ~= 0;
end

%!assert (issparse (gpuMatrix (sparse (1))), true)
