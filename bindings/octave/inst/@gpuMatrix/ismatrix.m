function n = ismatrix (a) %#ok
  % ismatrix (a)   Always true
  n = true;
end

%!assert (ismatrix (gpuMatrix ([1 2])), true)
