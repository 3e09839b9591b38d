function n = isrow (a)
  % isrow (a)   Has a one row? Known at once: nothing waits.
  s = kry_mex ('info', a.h);
  n = s(1) == 1;
end

%!assert ([isrow(gpuMatrix ([1 2])), isrow(gpuMatrix ([1; 2]))], [true false])
