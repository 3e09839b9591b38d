function z = each_pair (command, name, a, b)
  % A function of each two numbers: kry_mex's command, or the host's function where that cannot do it
  h = 0;
  if is_operand (a) && is_operand (b)
    if isobject (a), p = a.h; else, p = a; end
    if isobject (b), q = b.h; else, q = b; end
    h = kry_mex (command, p, q, true);
  end
  if h == 0, z = via_host (name, a, b); else, z = gpuMatrix (h, 'handle'); end
end

function yes = is_operand (x)
  yes = isobject (x) || ((isfloat (x) && isreal (x) || islogical (x)) && ndims (x) == 2);
end
