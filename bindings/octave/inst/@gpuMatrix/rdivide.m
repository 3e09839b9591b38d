function z = rdivide (a, b)
  % a ./ b   Quotients of numbers, on the device
  %
  % One operand may be a matrix of the host or a number; sizes of 1 are repeated. Queued: returns at
  % once. Where a sparse matrix takes part the host computes.
  %
  % Example:
  %   gather (gpuMatrix ([1 2; 3 4]) ./ [5 6; 7 8])
  %
  % See also: gpuMatrix, gather
  try % no more than has to be, for this is what a call costs
    if isobject (a) && isobject (b)
      z = a; h = kry_mex ('rdivide', a.h, b.h);
    elseif isobject (a)
      z = a; h = kry_mex ('rdivide', a.h, b);
    else
      z = b; h = kry_mex ('rdivide', a, b.h);
    end
    z.h = h;
    z.guard = onCleanup (@() kry_mex ('free', h));
  catch
    z = mixed ('rdivide', a, b);
  end
end

%!test
%! A = [1 2 3; 4 5 6]; B = [6 5 4; 3 2 1];
%! Z = A ./ B;
%! assert (gather (gpuMatrix (A) ./ gpuMatrix (B)), Z, 4 * eps);
%! assert (gather (gpuMatrix (A) ./ B), Z, 4 * eps);
%! assert (gather (A ./ gpuMatrix (B)), Z, 4 * eps);
%!test
%! % numbers, rows and columns are repeated
%! A = [1 2 3; 4 5 6];
%! assert (gather (gpuMatrix (A) ./ 2), A ./ 2, 4 * eps);
%! assert (gather (2 ./ gpuMatrix (A)), 2 ./ A, 64 * eps);
%! assert (gather (gpuMatrix (A) ./ gpuMatrix ([1 2 3])), A ./ [1 2 3], 256 * eps);
%! assert (gather (gpuMatrix ([1; 2]) ./ gpuMatrix (A)), [1; 2] ./ A, 64 * eps);
%!test
%! % single stays single
%! z = gpuMatrix (single ([1 2])) ./ [3 4];
%! assert (underlyingType (z), 'single');
%! assert (gather (z), single ([1 2] ./ [3 4]), 4 * eps ('single'));
%!test
%! assert (size (gpuMatrix (zeros (0, 3)) ./ 2), [0 3]);
%!error <kry:size|sizes do not agree> gpuMatrix ([1 2 3]) ./ [1 2]
%!error <complex numbers are not supported> gpuMatrix ([1 2 3]) ./ 2i
%!error <class int32 are not supported> gpuMatrix ([1 2 3]) ./ int32(1)
