function z = mpower (a, p)
  % a ^ p   a times itself, p a whole number; negative ones take the inverse. Of two numbers a .^ p
  %
  % Example:
  %   gather (gpuMatrix ([1 1; 0 1]) ^ 5)
  if isscalar (a) && isscalar (p), z = a .^ p; return; end
  p = host_of (p);
  if ~isobject (a) && isscalar (p), a = gpuMatrix (a); end
  if ~isobject (a) || ~(isnumeric (p) && isscalar (p) && isreal (p) && p == fix (p))
    error ('kry:unsupported', 'gpuMatrix: operator ^: a matrix to the power of a whole number only');
  end
  if ~issquare (a), error ('kry:size', 'gpuMatrix: operator ^: the matrix must be square, not %dx%d', size (a)); end
  if p < 0, a = inv (a); p = -p; end
  z = [];
  while p > 0
    if mod (p, 2) == 1
      if isempty (z), z = a; else, z = z * a; end
    end
    p = floor (p / 2);
    if p > 0, a = a * a; end
  end
  if isempty (z), z = gpuMatrix (eye (size (a, 1)), underlyingType (a)); end
end

%!test
%! A = rand (4);
%! for p = [0 1 2 3 7 -1 -2], assert (gather (gpuMatrix (A) ^ p), A ^ p, 1e-8 * max (1, norm (A ^ p))); end
%! assert (gather (gpuMatrix (sparse (A)) ^ 3), sparse (A ^ 3), 1e-12);
%! assert (gather (gpuMatrix (3) ^ 2), 9);
%!error id=kry:unsupported gpuMatrix (ones (2)) ^ 0.5
%!error id=kry:unsupported 2 ^ gpuMatrix (ones (2))
%!error id=kry:size gpuMatrix (ones (2, 3)) ^ 2
