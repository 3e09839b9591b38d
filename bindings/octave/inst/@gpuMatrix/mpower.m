function z = mpower (a, p)
  % a ^ p   a times itself, p a whole number; negative ones take the inverse. Of two numbers a .^ p.
  % Other powers of matrices, and numbers to the power of one, by the host
  %
  % Example:
  %   gather (gpuMatrix ([1 1; 0 1]) ^ 5)
  if isscalar (a) && isscalar (p), z = a .^ p; return; end
  p = host_of (p);
  if ~isobject (a) && isscalar (p), a = gpuMatrix (a); end
  if ~isobject (a) || ~(isnumeric (p) && isscalar (p) && isreal (p) && p == fix (p))
    z = via_host ('mpower', a, p);
    return;
  end
  if isa (p, 'single'), a = in_type (a, 'single'); end
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
%! assert (gather (gpuMatrix ([1 2; 3 4]) ^ single (2)), single ([7 10; 15 22]));
%! assert (gather (2 ^ gpuMatrix (3)), 8); assert (gather (A ^ gpuMatrix (2)), A ^ 2, 1e-12);
%!assert (gather (gpuMatrix ([2 1; 1 2]) ^ 0.5), [2 1; 1 2] ^ 0.5, 1e-14)
%!assert (gather (2 ^ gpuMatrix ([2 1; 1 2])), 2 ^ [2 1; 1 2], 1e-13)
%!error id=kry:size gpuMatrix (ones (2, 3)) ^ 2
