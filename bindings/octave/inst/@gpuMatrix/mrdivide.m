function x = mrdivide (a, b)
  % a / b   The solution of x * b = a, as (b' \ a')'; b a number: a ./ b
  if isscalar (b), x = a ./ b; return; end
  x = (b' \ a')';
end

%!test
%! A = rand (3, 5); B = rand (5) + 5 * eye (5);
%! assert (gather (gpuMatrix (A) / gpuMatrix (B)), A / B, 1e-12);
%! assert (gather (A / gpuMatrix (B)), A / B, 1e-12);
%! assert (gather (gpuMatrix (A) / 2), A / 2);
