function n = isnumeric (a) %#ok
  % isnumeric (a)   Always true
  n = true;
end

%!assert (isnumeric (gpuMatrix ([1 2])), true)
