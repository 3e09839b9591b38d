function h = handle_of (a)
  % What kry_mex knows it by
  h = a.h;
end
