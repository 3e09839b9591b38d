function t = underlyingType (a)
  % underlyingType (a)   'double' or 'single'
  s = kry_mex ('info', a.h);
  if s(5), t = 'single'; else, t = 'double'; end
end

%!assert (underlyingType (gpuMatrix (1)), 'double')
%!assert (underlyingType (gpuMatrix (single (1))), 'single')
