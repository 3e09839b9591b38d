function z = mixed (name, f, a, b)
  % An operator where one operand is on the host, is sparse, or the two do not go together; f is what
  % Octave has for it; without f the result is [] where Octave would have to do it
  p = a; q = b;
  if isobject (a), p = a.h; end
  if isobject (b), q = b.h; end
  h = kry_mex (name, p, q, true);
  if h == 0
    z = [];
    if ~isempty (f), z = by_host (f, a, b); end
  else
    if isobject (a), z = a; else, z = b; end
    z.h = h;
    z.guard = onCleanup (@() kry_mex ('free', h));
  end
end
