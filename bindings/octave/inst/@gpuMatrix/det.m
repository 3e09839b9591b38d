function d = det (a)
  % det (a)   The determinant, a number of the host, from LU factors. Waits.
  %
  % Example:
  %   det (gpuMatrix ([1 2; 3 4]))
  if ~issquare (a), error ('kry:size', 'det: argument must be a square matrix, not %dx%d', size (a)); end
  if isempty (a), d = 1; return; end
  f = factors_of (full (a));
  d = kry_mex ('det', f.h);
  if strcmp (underlyingType (a), 'single'), d = single (d); end
end

%!assert (det (gpuMatrix ([1 2; 3 4])), -2, 1e-15)
%!assert (det (gpuMatrix ([1 2; 2 4])), 0)
%!assert (det (gpuMatrix (1e200 * eye (3))), Inf)
%!assert (det (gpuMatrix (sparse ([2 0; 0 3]))), 6, 1e-14)
%!assert (class (det (gpuMatrix (single (2)))), 'single')
%!error id=kry:size det (gpuMatrix ([1 2]))
