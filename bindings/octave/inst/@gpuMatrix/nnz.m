function n = nnz (a)
  % nnz (a)   How many numbers are not zero; of a sparse matrix, how many are stored. Dense ones wait.
  s = kry_mex ('info', a.h);
  n = s(3);
  if ~s(4), n = double (reduced (a, 'nnz', 0)); end
end

%!assert (nnz (gpuMatrix ([1 0; 2 3])), 3)
%!assert (nnz (gpuMatrix (sparse ([1 0; 2 3]))), 3)
%!assert (nnz (gpuMatrix ([])), 0)
