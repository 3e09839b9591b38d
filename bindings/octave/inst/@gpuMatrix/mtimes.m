function z = mtimes (a, b, varargin)
  % a * b   The product of matrices, on the device
  %
  % Dense times dense, sparse times dense and dense times sparse; a number scales. One operand may be on
  % the host. Queued: returns at once. Sparse times sparse is formed by the host.
  %
  % Example:
  %   gather (gpuMatrix ([1 2; 3 4]) * [1; 1])
  try % no more than has to be, for this is what a call costs
    if isobject (a) && isobject (b)
      z = a; h = kry_mex ('mtimes', a.h, b.h);
    elseif isobject (a)
      z = a; h = kry_mex ('mtimes', a.h, b);
    else
      z = b; h = kry_mex ('mtimes', a, b.h);
    end
    z.h = h;
    z.guard = onCleanup (@() kry_mex ('free', h));
  catch
    z = with_others (a, b);
  end
  for k = 1:numel (varargin), z = mtimes (z, varargin{k}); end
end

function z = with_others (a, b)
  % Dense times sparse as (b' * a')'; what is sparse twice, or scaled, by the host
  if islogical (a), a = double (a); end
  if islogical (b), b = double (b); end
  if ~issparse (a) && ~issparse (b) || (issparse (a) && ~issparse (b) && ~isscalar (a) && ~isscalar (b))
    z = mixed ('mtimes', a, b);
  elseif issparse (a) || isscalar (a) || isscalar (b)
    z = via_host ('mtimes', a, b);
  else
    z = transpose (mtimes (transpose (gpuMatrix (b)), transpose (gpuMatrix (a))));
  end
end

%!assert (gather (mtimes (gpuMatrix (2), 3, 4)), mtimes (2, 3, 4))
%!test
%! A = rand (13, 7); B = rand (7, 9); x = rand (7, 1);
%! assert (gather (gpuMatrix (A) * gpuMatrix (B)), A * B, 1e-13);
%! assert (gather (gpuMatrix (A) * B), A * B, 1e-13);
%! assert (gather (A * gpuMatrix (B)), A * B, 1e-13);
%! assert (gather (gpuMatrix (A) * x), A * x, 1e-13);
%! assert (gather (x' * gpuMatrix (B)), x' * B, 1e-13);
%! assert (gather (3 * gpuMatrix (A)), 3 * A, 1e-13);
%! assert (gather (gpuMatrix (3) * A), 3 * A, 1e-13);
%! assert (gather (gpuMatrix (single (A)) * B), single (A * B), -1e-5);
%!test
%! % sparse
%! A = sprand (13, 7, 0.3); B = rand (7, 4); C = sprand (7, 5, 0.3); D = rand (4, 13);
%! assert (gather (gpuMatrix (A) * gpuMatrix (B)), A * B, 1e-13);
%! assert (gather (A * gpuMatrix (B)), A * B, 1e-13);
%! assert (gather (gpuMatrix (D) * A), D * A, 1e-13);
%! assert (gather (gpuMatrix (A) * C), A * C, 1e-13);
%! assert (issparse (gpuMatrix (A) * C));
%! assert (gather (2 * gpuMatrix (A)), 2 * A, 1e-13);
%!test
%! % empty
%! assert (gather (gpuMatrix (zeros (2, 0)) * zeros (0, 3)), zeros (2, 3));
%! assert (size (gpuMatrix (zeros (0, 2)) * ones (2, 3)), [0 3]);
%!error <2x3 times 2x3> gpuMatrix (ones (2, 3)) * ones (2, 3)
%!error id=kry:size gpuMatrix (ones (2, 3)) * ones (2, 3)
