function z = each_pair (command, name, a, b)
  % A function of each two numbers: kry_mex's command, or the host's function where that cannot do it
  if isobject (a), p = a.h; else, p = a; end
  if isobject (b), q = b.h; else, q = b; end
  h = kry_mex (command, p, q, true);
  if h == 0, z = via_host (name, a, b); else, z = gpuMatrix (h, 'handle'); end
end
