function [x, flag, relres, iter, resvec] = pcg_on_device (A, b, tol, maxit, M, x0)
  % All iterations in one piece of work for the device
  if is_single (b), A = gpuMatrix (A, 'single'); end
  if ~isobject (A), A = gpuMatrix (A); end
  if isobject (b), b = handle_of (b); end
  if isobject (x0), x0 = handle_of (x0); end
  if issparse (b), b = full (b); end
  if issparse (x0), x0 = full (x0); end
  [h, flag, relres, iter, resvec] = kry_mex ('pcg', handle_of (A), b, x0, double (tol), ...
                                             double (maxit), M.h, M.deflation);
  x = gpuMatrix (h, 'handle');
end

function yes = is_single (b)
  yes = isa (b, 'single') || (isobject (b) && strcmp (underlyingType (b), 'single'));
end
