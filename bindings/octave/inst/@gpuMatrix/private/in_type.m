function z = in_type (a, type)
  % The same numbers in another type, on the device
  s = kry_mex ('info', a.h);
  if s(5) == strcmp (type, 'single'), z = a; return; end
  h = kry_mex ('convert', a.h, type);
  if h == 0, z = gpuMatrix (kry_mex ('get', a.h), type); return; end
  z = gpuMatrix (h, 'handle');
end
