function [l, u, p] = lu (a, how)
  % [L, U, P] = lu (a), [L, U, p] = lu (a, 'vector'), [L, U] = lu (a), Y = lu (a)
  %
  % The factors P * a = L * U of a dense matrix of any shape, with partial pivoting, on the device. With
  % two results L is P' * L; with one, Y = L + U - I. 'vector': p is the order of rows, a column, a (p, :) = L * U,
  % on the host, and waited for. The rest is queued: returns at once.
  %
  % Example:
  %   [L, U, P] = lu (gpuMatrix (magic (4)));
  %   norm (P * magic (4) - L * U)
  f = factors_of (a);
  if nargin > 1 && ~strcmp (how, 'vector')
    error ('kry:argument', 'lu: the option is ''vector''');
  end
  if nargout < 2
    l = both (factor (f, 'L'), factor (f, 'U'));
    return;
  end
  u = factor (f, 'U');
  if nargout == 2, l = factor (f, 'Q'); return; end
  l = factor (f, 'L');
  if nargin > 1, p = double (factor (f, 'p'))'; else, p = factor (f, 'P'); end
end

function x = factor (f, which)
  x = gpuMatrix (kry_mex ('factors', f.h, which), 'handle');
end

function y = both (l, u)
  type = underlyingType (l);
  l = gather (l); u = gather (u);
  y = zeros (size (l, 1), size (u, 2));
  y(:, 1:size (l, 2)) = tril (l, -1);
  y(1:size (u, 1), :) = y(1:size (u, 1), :) + u;
  y = gpuMatrix (y, type);
end

%!test
%! for s = {[6 6], [7 4], [4 7], [1 1]}
%!   A = rand (s{1});
%!   [L, U, P] = lu (gpuMatrix (A));
%!   [l, u, p] = lu (A);
%!   assert (gather (L), l, 1e-12); assert (gather (U), u, 1e-12); assert (gather (P), full (p));
%!   [L, U] = lu (gpuMatrix (A));
%!   [l, u] = lu (A);
%!   assert (gather (L), l, 1e-12); assert (gather (U), u, 1e-12);
%!   assert (gather (lu (gpuMatrix (A))), lu (A), 1e-12);
%!   [L, U, p] = lu (gpuMatrix (A), 'vector');
%!   [~, ~, q] = lu (A, 'vector');
%!   assert (p, q);
%!   assert (norm (A(p, :) - gather (L * U)), 0, 1e-12);
%! end
%!test
%! A = single (rand (5));
%! [L, U, P] = lu (gpuMatrix (A));
%! assert (underlyingType (L), 'single');
%! assert (gather (P' * L * U), A, 1e-5);
%!test
%! % a singular one has factors, too
%! [L, U, P] = lu (gpuMatrix ([1 2; 2 4]));
%! assert (gather (P' * L * U), [1 2; 2 4], eps);
%!error id=kry:unsupported lu (gpuMatrix (sparse (1)))
