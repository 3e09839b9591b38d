function rc = rcond_of (f)
  % The reciprocal condition of factors. Waits.
  rc = kry_mex ('rcond', f.h);
end
