function z = uminus (a)
  % -a   The negative, on the device
  %
  % Example:
  %   gather (-gpuMatrix ([1 -2]))
  z = (-1) * a;
end

%!assert (gather (-gpuMatrix ([1 -2])), [-1 2])
%!assert (gather (-gpuMatrix (sparse ([1 -2]))), sparse ([-1 2]))
