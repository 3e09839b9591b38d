function n = iscolumn (a)
  % iscolumn (a)   Has a one column? Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  n = s(2) == 1;
end

%!assert ([iscolumn(gpuMatrix ([1 2])), iscolumn(gpuMatrix ([1; 2]))], [false true])
