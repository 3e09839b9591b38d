function z = mixed (name, a, b)
  % An operator where one operand is on the host, is sparse, or the two do not go together
  if islogical (a), a = double (a); end
  if islogical (b), b = double (b); end
  p = a; q = b;
  if isobject (a), p = a.h; end
  if isobject (b), q = b.h; end
  h = kry_mex (name, p, q, true);
  if h == 0
    z = via_host (name, a, b);
  else
    z = gpuMatrix (h, 'handle');
  end
end
