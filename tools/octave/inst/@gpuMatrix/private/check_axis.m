function check_axis (name, dim)
  if ~(isscalar (dim) && dim >= 1 && dim == fix (dim))
    error ('kry:argument', '%s: the dimension must be a whole number from 1 on', name);
  end
end
