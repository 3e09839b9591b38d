function z = logical (a)
  % logical (a)   Which numbers are not zero, on the host. Waits. This is how if, while, && and || look at a
  %
  % Example:
  %   if gpuMatrix (1), disp ('true'), end
  z = logical (kry_mex ('get', a.h));
end

%!test
%! for A = {1, 0, [1 2], [1 0], [], -1}
%!   yes = false; if A{1}, yes = true; end
%!   seen = false; if gpuMatrix (A{1}), seen = true; end
%!   assert (seen, yes);
%! end
%! assert (logical (gpuMatrix ([0 2])), [false true]);
%! assert (gpuMatrix (1) && true); assert (~(gpuMatrix (0) || false));
%! n = gpuMatrix (3); k = 0; while n, n = n - 1; k++; end
%! assert (k, 3);
%!error <NaN> logical (gpuMatrix (NaN))
