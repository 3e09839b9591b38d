function x = host_of (x)
  % The numbers on the host, wherever they are
  if isobject (x), x = kry_mex ('get', x.h); end
end
