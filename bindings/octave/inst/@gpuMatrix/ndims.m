function n = ndims (a) %#ok
  % ndims (a)   Dimensions: always 2
  n = 2;
end

%!assert (ndims (gpuMatrix ([1 2])), 2)
