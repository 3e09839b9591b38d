function z = single (a)
  % single (a)   The same numbers in single precision, on the device
  %
  % double (a), on the other hand, hands them to the host.
  z = in_type (a, 'single');
end

%!test
%! a = single (gpuMatrix ([1 2.1]));
%! assert (underlyingType (a), 'single');
%! assert (gather (a), single ([1 2.1]));
%! assert (underlyingType (single (gpuMatrix (sparse (1)))), 'single');
