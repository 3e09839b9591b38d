function yes = is_axis (dim)
  yes = isnumeric (dim) && isscalar (dim) && dim >= 1 && dim == fix (dim);
end
