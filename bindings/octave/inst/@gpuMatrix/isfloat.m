function n = isfloat (a) %#ok
  % isfloat (a)   Always true
  n = true;
end

%!assert (isfloat (gpuMatrix ([1 2])), true)
