function k = an_index (k)
  % An index as kry_mex takes it: ':', logical or double
  k = host_of (k);
  if issparse (k), k = full (k); end
  if isinteger (k) || isa (k, 'single'), k = double (k); end
end
