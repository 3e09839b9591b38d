function yes = is_tiny (rc, a)
  % Does 1 + rc round to 1? Octave calls a singular then.
  if strcmp (underlyingType (a), 'single')
    yes = single (1) + single (rc) == single (1);
  else
    yes = 1 + rc == 1;
  end
end
