function z = power (a, b)
  % a .^ b   Powers of numbers, on the device
  %
  % One operand may be a matrix of the host or a number; sizes of 1 are repeated. Queued: returns at
  % once. Where a sparse matrix takes part the host computes.
  % A negative number to a power that is not whole is complex: an error, raised when the result is waited for.
  %
  % Example:
  %   gather (gpuMatrix ([1 2; 3 4]) .^ [5 6; 7 8])
  %
  % See also: gpuMatrix, gather
  try % no more than has to be, for this is what a call costs
    if isobject (a) && isobject (b)
      z = a; h = kry_mex ('power', a.h, b.h);
    elseif isobject (a)
      z = a; h = kry_mex ('power', a.h, b);
    else
      z = b; h = kry_mex ('power', a, b.h);
    end
    z.h = h;
    z.guard = onCleanup (@() kry_mex ('free', h));
  catch
    z = mixed ('power', a, b);
  end
end

%!test
%! A = [1 2 3; 4 5 6]; B = [6 5 4; 3 2 1];
%! Z = A .^ B;
%! assert (gather (gpuMatrix (A) .^ gpuMatrix (B)), Z, 4 * eps);
%! assert (gather (gpuMatrix (A) .^ B), Z, 4 * eps);
%! assert (gather (A .^ gpuMatrix (B)), Z, 4 * eps);
%!test
%! % numbers, rows and columns are repeated
%! A = [1 2 3; 4 5 6];
%! assert (gather (gpuMatrix (A) .^ 2), A .^ 2, 4 * eps);
%! assert (gather (2 .^ gpuMatrix (A)), 2 .^ A, 64 * eps);
%! assert (gather (gpuMatrix (A) .^ gpuMatrix ([1 2 3])), A .^ [1 2 3], 256 * eps);
%! assert (gather (gpuMatrix ([1; 2]) .^ gpuMatrix (A)), [1; 2] .^ A, 64 * eps);
%!test
%! % single stays single
%! z = gpuMatrix (single ([1 2])) .^ [3 4];
%! assert (underlyingType (z), 'single');
%! assert (gather (z), single ([1 2] .^ [3 4]), 4 * eps ('single'));
%!test
%! assert (size (gpuMatrix (zeros (0, 3)) .^ 2), [0 3]);
%!error <kry:size|sizes do not agree> gpuMatrix ([1 2 3]) .^ [1 2]
%!error <complex numbers are not supported> gpuMatrix ([1 2 3]) .^ 2i
%!error <class int32 are not supported> gpuMatrix ([1 2 3]) .^ int32(1)
%!test
%! % what would be complex is an error; what is real, is not
%! for z = {@() gpuMatrix(-8) .^ (1/3), @() (-8) .^ gpuMatrix([2 0.5]), @() gpuMatrix([2 -2]) .^ gpuMatrix([0.5 0.5])}
%!   try, gather (z{1} ()), assert (false); catch err, assert (err.identifier, 'kry:type'); end
%! end
%! assert (gather (gpuMatrix ([-8 4]) .^ [3 0.5]), [-512 2], 4 * eps (512));
%! assert (gather ((-2) .^ gpuMatrix ([2 -1 0])), [4 -0.5 1], eps (4));
%! assert (gather (gpuMatrix ([NaN 4]) .^ 0.5), [NaN 2]);
