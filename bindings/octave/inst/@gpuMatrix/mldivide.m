function x = mldivide (a, b)
  % a \ b   The solution of a * x = b, by what suits a:
  %
  %   dense            LU factors with partial pivoting, on the device
  %   tridiagonal      (sparse) direct, on the device
  %   symmetric        (sparse, with a positive diagonal) conjugate gradients on the device, with
  %                    incomplete Cholesky factors of blocks, to a backward error of 1e-12 (single:
  %                    1e-5): norm (b - a * x) <= 1e-12 * (norm (a) * norm (x) + norm (b)), checked;
  %                    where they end before, the warning kry:notConverged says where
  %   other sparse     up to 3000 unknowns as dense ones; larger ones are refused
  %   a number         b / a
  %
  % A singular a gives the warning kry:singular with its reciprocal condition, and what Octave gives:
  % the host computes it. With more or fewer equations than unknowns the host solves least squares. The
  % factors are waited for, because of these warnings; the solution comes in the background.
  %
  % Example:
  %   A = gpuMatrix ([4 1; 1 3]);
  %   gather (A \ [1; 2])
  %
  % See also: lu, kry_pcg
  if isscalar (a), x = b ./ a; return; end
  if islogical (a), a = double (a); end
  if ~isobject (a), a = gpuMatrix (a, type_beside (b)); end
  s = kry_mex ('info', a.h);
  if size (b, 1) ~= s(1)
    error ('kry:size', 'gpuMatrix: operator \\: sizes do not agree: %dx%d and %dx%d', s(1:2), size (b));
  elseif issparse (b)
    b = full (b);
  end
  if s(1) ~= s(2) || s(1) == 0 || size (b, 2) == 0
    x = via_host ('mldivide', a, b);
  elseif ~s(4)
    x = by_factors (a, b);
  elseif s(7)
    x = by_band (a, b);
  elseif s(6) && s(8)
    x = by_iterations (a, b);
  else
    x = as_dense (a, b, 'is sparse and not symmetric with a positive diagonal');
  end
end

function type = type_beside (b)
  type = '';
  if isobject (b) && strcmp (underlyingType (b), 'single'), type = 'single'; end
end

function x = by_factors (a, b)
  if ~isobject (b) && isa (b, 'single'), a = in_type (a, 'single'); end
  if isobject (b) && strcmp (underlyingType (b), 'single'), a = in_type (a, 'single'); end
  f = factors_of (a);
  rc = rcond_of (f);
  if is_tiny (rc, a)
    warn_singular (rc);
    x = via_host (@quietly, a, b);
  else
    if isobject (b), q = b.h; else, q = b; end
    x = gpuMatrix (kry_mex ('lu_solve', f.h, q, false), 'handle');
  end
end

function x = by_band (a, b)
  if isobject (b), q = b.h; else, q = b; end
  try
    x = gpuMatrix (kry_mex ('tridiagonal', a.h, q), 'handle');
  catch err
    if ~strcmp (err.identifier, 'kry:singular'), rethrow (err); end
    warn_singular (0);
    x = via_host (@quietly, a, b);
  end
end

function x = quietly (a, b)
  % What Octave says of singular matrices has been said.
  was = warning ();
  undo = onCleanup (@() warning (was));
  warning ('off', 'all');
  x = full (a) \ full (b);
end

function x = by_iterations (a, b)
  s = kry_mex ('info', a.h);
  tol = 1e-12;
  if s(5), tol = 1e-5; end
  m = kry_precond (a, 'block-ic');
  parts = cell (1, size (b, 2));
  if ~isobject (b), b = gpuMatrix (b); end
  for j = 1:size (b, 2)
    c = b;
    if size (b, 2) > 1, c = gpuMatrix (kry_mex ('index', b.h, ':', j), 'handle'); end
    [h, flag, relres, ~, ~, why] = kry_mex ('pcg', a.h, c.h, [], tol, max (1000, 10 * s(1)), ...
                                            handle_of (m), [], true);
    parts{j} = gpuMatrix (h, 'handle');
    if flag == 4
      x = as_dense (a, b, 'is symmetric, but not positive definite');
      return;
    elseif flag
      warning ('kry:notConverged', ['gpuMatrix: operator \\: conjugate gradients ended at a relative ' ...
               'residual of %.1e: %s'], relres, why);
    end
  end
  if numel (parts) == 1, x = parts{1}; else, x = horzcat (parts{:}); end
end

function x = as_dense (a, b, what)
  s = kry_mex ('info', a.h);
  if s(1) > 3000
    error ('kry:unsupported', ['gpuMatrix: operator \\: a matrix of %d rows that %s: there is no solver ' ...
           'for that on the device; the host has one: gather (a) \\ gather (b)'], s(1), what);
  end
  x = by_factors (full (a), b);
end

%!test
%! A = rand (30) + 30 * eye (30); B = rand (30, 3);
%! assert (gather (gpuMatrix (A) \ gpuMatrix (B)), A \ B, 1e-12);
%! assert (gather (gpuMatrix (A) \ B), A \ B, 1e-12);
%! assert (gather (A \ gpuMatrix (B)), A \ B, 1e-12);
%! x = gpuMatrix (single (A)) \ B;
%! assert (underlyingType (x), 'single');
%! assert (gather (x), single (A \ B), 1e-5);
%! assert (underlyingType (A \ gpuMatrix (single (B))), 'single');
%! assert (gather (2 \ gpuMatrix (B)), B / 2, eps);
%!test
%! % tridiagonal
%! n = 100; A = spdiags (ones (n, 1) * [-1 2.5 -1.2], -1:1, n, n); B = rand (n, 2);
%! assert (gather (gpuMatrix (A) \ B), A \ B, 1e-12);
%!test
%! % symmetric positive definite
%! T = spdiags (ones (12, 1) * [-1 2 -1], -1:1, 12, 12);
%! A = kron (T, speye (12)) + kron (speye (12), T); b = rand (144, 2);
%! assert (norm (A * gather (gpuMatrix (A) \ b) - b), 0, 1e-10);
%! x = gpuMatrix (A, 'single') \ b(:, 1);
%! assert (norm (A * double (x) - b(:, 1)), 0, 1e-3);
%!test
%! % sparse, nonsymmetric or indefinite
%! A = sprand (40, 40, 0.1) + 10 * speye (40); b = rand (40, 1);
%! assert (gather (gpuMatrix (A) \ b), A \ b, 1e-12);
%! S = A + A' - 22 * speye (40) + 20 * diag (sparse (mod (1:40, 2)));
%! assert (norm (S * gather (gpuMatrix (S) \ b) - b), 0, 1e-9);
%!warning <singular> gpuMatrix ([1 2; 2 4]) \ [1; 2];
%!warning id=kry:singular gpuMatrix (sparse ([1 1; 1 1])) \ [1; 2];
%!test
%! % a singular one gives what Octave gives
%! warning ('off', 'all', 'local');
%! A = [1 2; 2 4]; b = [1; 3];
%! assert (gather (gpuMatrix (A) \ b), A \ b, 1e-12);
%!test
%! assert (gather (gpuMatrix (zeros (0, 0)) \ zeros (0, 3)), zeros (0, 3));
%! assert (size (gpuMatrix ([1 2; 3 4]) \ zeros (2, 0)), [2 0]);
%! assert (gather ([true false; true true] \ gpuMatrix ([1; 3])), [1; 2]);
%!test
%! % least squares
%! A = rand (7, 3); b = rand (7, 2);
%! assert (gather (gpuMatrix (A) \ b), A \ b, 1e-12);
%! assert (gather (b' / gpuMatrix (A')), b' / A', 1e-12);
%! assert (gather (gpuMatrix (sparse (A)) \ b), A \ b, 1e-12);
%!error id=kry:size gpuMatrix (ones (2)) \ [1; 2; 3]
%!error <is nan> gpuMatrix ([1 NaN; 2 3]) \ [1; 2]
%!test
%! % ill-conditioned: as good as the host's solution, and no warning
%! T = spdiags (ones (20, 1) * [-1 2 -1], -1:1, 20, 20);
%! A = (kron (T, speye (20)) + kron (speye (20), T)) ^ 5; b = cos (1:400)';
%! lastwarn ('', '');
%! x = gather (gpuMatrix (A) \ b);
%! [~, id] = lastwarn ();
%! assert (id, '');
%! assert (norm (A * x - b) <= 1e-12 * (norm (A, 1) * norm (x) + norm (b)));
%!error <gather \(a\) \\ gather \(b\)>
%! n = 3001; gpuMatrix (speye (n) + sparse (1, 3, 1, n, n)) \ ones (n, 1);
%!error <there is no solver for that>
%! n = 3001; gpuMatrix (speye (n) + sparse (1, 3, 1, n, n)) \ ones (n, 1);
