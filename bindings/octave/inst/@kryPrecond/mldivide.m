function z = mldivide (M, r)
  % M \ r   What the preconditioner makes of r, a gpuMatrix; its first level, without deflation
  %
  % Example:
  %   M = kry_precond (sparse ([4 0; 0 2]), 'jacobi');
  %   gather (M \ [4; 4])
  if isempty (M.h), z = gpuMatrix (r); return; end
  if isa (r, 'gpuMatrix'), r = handle_of (r); end
  z = gpuMatrix (kry_mex ('apply', M.h, r), 'handle');
end

%!assert (gather (kry_precond (sparse ([4 0; 0 2]), 'jacobi') \ [4; 4]), [1; 2])
%!assert (gather (kry_precond (sparse ([4 0; 0 2]), 'jacobi') \ gpuMatrix ([4; 4])), [1; 2])
