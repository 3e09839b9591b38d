function z = ctranspose (a)
  % a'   The transpose, on the device. Numbers are real: .' and ' are the same
  %
  % Queued. Of sparse matrices that are not symmetric by the host.
  z = transpose (a);
end

%!test
%! A = rand (5, 3);
%! assert (gather (gpuMatrix (A)'), A');
%! assert (gather (gpuMatrix (sparse (A))'), sparse (A)');
%! assert (gather (gpuMatrix (sparse (A * A'))'), sparse (A * A'));
%! assert (size (gpuMatrix (zeros (0, 3))'), [3 0]);
