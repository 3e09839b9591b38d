function x = double (a)
  % double (a)   The numbers of a, on the host in double precision. Waits for them.
  %
  % gpuMatrix (a, 'double') converts on the device.
  x = double (kry_mex ('get', a.h));
end

%!assert (double (gpuMatrix (single ([1 2]))), [1 2])
