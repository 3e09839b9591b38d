function [x, flag, relres, iter, resvec, eigest] = kry_pcg (A, b, tol, maxit, M1, M2, x0, varargin)
  % [x, flag, relres, iter, resvec, eigest] = kry_pcg (A, b, tol, maxit, M1, M2, x0, ...)
  %
  % Conjugate gradients for A * x = b, A symmetric positive definite, as Octave's pcg, on the device.
  %
  %   A       a gpuMatrix, a matrix of the host (which goes to the device), or a function of x: a handle or a
  %           name. What stands behind x0 is handed on to functions
  %   b       a column; a gpuMatrix or on the host
  %   tol     stop when norm (b - A*x) <= tol * norm (b); default 1e-6
  %   maxit   iterations at most; default min (rows (b), 20)
  %   M1, M2  the preconditioner M = M1 * M2, about A: matrices, functions that apply the inverse, or M1 one
  %           of kry_precond, with or without deflation
  %   x0      where to start from; default 0
  %
  %   x       the iterate with the least residual; a gpuMatrix if A, b or x0 is one
  %   flag    0: converged; 1: maxit reached; 2: M is singular; 3: stagnated; 4: A or M is not positive
  %           definite
  %   relres  norm (b - A*x) / norm (b), of the recurrence
  %   iter    the iteration that x is of
  %   resvec  norms of the residual, from that of x0 on; if eigest is asked for with a second column,
  %           sqrt (r' * (M \ r))
  %   eigest  estimates of the least and the largest eigenvalue of M \ A
  %
  % All goes on in the background without a look of Octave's where A is a matrix and M is missing, of
  % kry_precond, diagonal, or a dense gpuMatrix, and eigest is not asked for. Otherwise, and for functions,
  % complex matrices, and a triangular or other sparse M, Octave goes through the iterations, with products
  % (of a complex A as of real ones) on the device. Functions get vectors of the kind of b.
  % Ctrl-C ends it with the error kry:interrupted.
  %
  % Example:
  %   A = gpuMatrix (toeplitz (sparse ([2 -1 zeros(1, 98)])));
  %   [x, flag, relres, iter] = kry_pcg (A, ones (100, 1), 1e-8, 100);
  %
  % Example:
  %   M = kry_precond (A, 'ic');
  %   [x, flag] = kry_pcg (A, ones (100, 1), 1e-8, 100, M);
  %
  % See also: pcg, kry_precond, kry_plot_convergence
  if nargin < 2, error ('kry:argument', 'kry_pcg: needs A and b'); end
  if nargin < 3 || isempty (tol), tol = 1e-6; end
  if nargin < 4 || isempty (maxit), maxit = min (size (b, 1), 20); end
  if nargin < 5, M1 = []; end
  if nargin < 6, M2 = []; end
  if nargin < 7, x0 = []; end
  check_numbers (tol, maxit);
  [A, matrix] = the_operator (A, b);
  on_device = isobject (b) || isobject (x0) || isa (A, 'gpuMatrix');
  lazy = nargout < 6 && matrix && maxit >= 1 && ~iscomplex (A) && ~iscomplex (b) && ~iscomplex (x0);
  if norm (b) == 0
    x = b; flag = 0; relres = 0; iter = 0; resvec = 0; eigest = [NaN NaN];
    if on_device && ~isobject (x), x = gpuMatrix (x); end
    if nargout < 2, fprintf ('kry_pcg: the right-hand side is zero, and so is the solution.\n'); end
    return;
  end
  if lazy, [M, lazy, A] = device_preconditioner (A, M1, M2); end
  if lazy && isequal (M, 'singular')
    x = x0; flag = 2; iter = 0; relres = 1;
    if isempty (x), x = zeros (size (b)); end
    resvec = norm (b - gather_if (A * x)); eigest = [NaN NaN];
  elseif lazy
    [x, flag, relres, iter, resvec] = pcg_on_device (A, b, tol, maxit, M, x0);
    eigest = [NaN NaN];
    if ~on_device, x = gather (x); end
  else
    [x, flag, relres, iter, resvec, eigest] = ...
      pcg_by_steps (A, b, tol, maxit, M1, M2, x0, nargout > 5, varargin);
    if on_device && ~isobject (x) && isreal (x), x = gpuMatrix (x); end
  end
  if nargout < 2, tell (flag, relres, iter, numel (resvec) - 1, tol); end
end

function check_numbers (tol, maxit)
  if ~(isnumeric (tol) && isscalar (tol) && isreal (tol))
    error ('kry:argument', 'kry_pcg: tol must be a real number');
  elseif ~(isnumeric (maxit) && isscalar (maxit) && isreal (maxit) && maxit >= 0)
    error ('kry:argument', 'kry_pcg: maxit must be a number that is not negative');
  elseif tol >= 1
    warning ('kry:tolerance', 'kry_pcg: tol is 1 or larger: try a smaller one');
  elseif tol <= eps / 2
    warning ('kry:tolerance', 'kry_pcg: tol may be out of reach: try a larger one');
  end
end

function [A, matrix] = the_operator (A, b)
  % A as a matrix, or as a handle
  matrix = false;
  if ischar (A)
    A = str2func (A);
  elseif isa (A, 'function_handle')
    % as it is
  elseif ~(isa (A, 'gpuMatrix') || isfloat (A)) || size (A, 1) ~= size (A, 2)
    error ('kry:argument', 'kry_pcg: A must be a square matrix of real or complex numbers, or a function');
  else
    matrix = true;
  end
  if ~(isa (b, 'gpuMatrix') || isfloat (b))
    error ('kry:type', 'kry_pcg: b of class %s is not supported, only double and single', class (b));
  elseif size (b, 2) ~= 1 || (matrix && size (A, 2) ~= size (b, 1))
    error ('kry:size', 'kry_pcg: b must be a column with as many numbers as A has rows, not %dx%d', size (b));
  end
end

function x = gather_if (x)
  if isobject (x), x = gather (x); end
end

function tell (flag, relres, iter, done, tol)
  why = {'', 'the limit of iterations was reached', 'the preconditioner is singular', 'it stagnated', ...
         'the matrix or the preconditioner is not positive definite'};
  if flag == 0
    fprintf ('kry_pcg: converged at iteration %d with a relative residual of %g.\n', iter, relres);
  else
    fprintf (['kry_pcg: ended after %d iterations without coming to %g, because %s.\n' ...
              'Iteration %d, which is returned, has a relative residual of %g.\n'], done, tol, ...
             why{flag + 1}, iter, relres);
  end
end

%!demo
%! % a sheet that hangs from its edge, over a grid
%! m = 30;
%! T = toeplitz (sparse ([2 -1 zeros(1, m - 2)]));
%! A = gpuMatrix (kron (T, speye (m)) + kron (speye (m), T));
%! [x, flag] = kry_pcg (A, -ones (m^2, 1), 1e-8, 200, kry_precond (A, 'ic'));
%! surf (reshape (gather (x), m, m));

%!shared A, b, n
%! n = 20;
%! T = toeplitz (sparse ([2 -1 zeros(1, n - 2)]));
%! A = kron (T, speye (n)) + kron (speye (n), T); b = A * (1:n^2)' / n^2;
%!test
%! % as pcg: flags, counts and residuals
%! for maxit = [5, 30, 200]
%!   [x, flag, relres, iter, resvec] = kry_pcg (A, b, 1e-8, maxit);
%!   [X, Flag, Relres, Iter, Resvec] = pcg (A, b, 1e-8, maxit);
%!   assert ([flag iter], [Flag Iter]);
%!   assert (x, X, 1e-8 * norm (X)); assert (relres, Relres, -1e-4);
%!   assert (resvec, Resvec, 1e-6 * norm (b));
%! end
%!test
%! % the iterate of the least residual, where that is not the last
%! D = diag (logspace (0, 6, 60)); c = ones (60, 1);
%! [x, flag, relres, iter, resvec] = kry_pcg (D, c, 1e-12, 25);
%! assert (flag, 1);
%! [least, at] = min (resvec);
%! assert (iter, at - 1);
%! assert (norm (c - D * x) / norm (c), relres, -1e-4);
%!test
%! % gpuMatrix in, gpuMatrix out; single
%! [x, flag] = kry_pcg (gpuMatrix (A), b, 1e-8, 200);
%! assert (class (x), 'gpuMatrix'); assert (flag, 0);
%! assert (norm (A * gather (x) - b) <= 1.1e-8 * norm (b));
%! [x, flag] = kry_pcg (A, gpuMatrix (b), 1e-8, 200);
%! assert (class (x), 'gpuMatrix'); assert (flag, 0);
%! [x, flag] = kry_pcg (gpuMatrix (A, 'single'), single (b), 1e-4, 200);
%! assert (underlyingType (x), 'single'); assert (flag, 0);
%! assert (norm (A * double (x) - b) <= 2e-4 * norm (b));
%!test
%! % a guess
%! [x, flag, ~, iter] = kry_pcg (A, b, 1e-8, 200, [], [], (1:n^2)' / n^2);
%! assert ([flag iter], [0 0]);
%!test
%! % relres is that of x, also where a guess is good enough; by the device and step by step
%! guess = (1:n^2)' / n^2 + 1e-3 * cos (1:n^2)';
%! for how = {[], @(r) r}
%!   for tol = [0.5, 1e-6, 1e-30]
%!     [x, flag, relres, iter, resvec] = kry_pcg (A, b, tol, 30, how{1}, [], guess);
%!     assert (relres, norm (b - A * x) / norm (b), -1e-6);
%!     assert (numel (resvec) > 0); assert (resvec(1), norm (b - A * guess), -1e-6);
%!     assert (flag == 0, relres <= tol);
%!   end
%! end
%!test
%! % preconditioners of all kinds
%! J = diag (diag (A)); L = ichol (A); M = L * L';
%! for how = {{J}, {full(J)}, {L, L'}, {M}, {sqrt(J), sqrt(J)}, {@(r) J \ r}, {@(r) L \ r, L'}, ...
%!            {gpuMatrix(full (J))}, {gpuMatrix(J)}, {kry_precond(A, 'jacobi')}}
%!   [x, flag, ~, iter] = kry_pcg (A, b, 1e-8, 200, how{1}{:});
%!   assert (flag, 0);
%!   assert (norm (A * x - b) <= 1.1e-8 * norm (b));
%! end
%!test
%! % estimates of eigenvalues, and the norm of the preconditioner
%! L = ichol (A);
%! [~, ~, ~, ~, resvec, e] = kry_pcg (A, b, 1e-10, 200, L, L');
%! [~, ~, ~, ~, Resvec, E] = pcg (A, b, 1e-10, 200, L, L');
%! assert (e, E, -1e-6); assert (resvec, Resvec, 1e-6);
%! [~, ~, ~, ~, ~, e] = kry_pcg (gpuMatrix (A), gpuMatrix (b), 1e-10, 200);
%! l = eig (full (A));
%! assert (e(1) >= min (l) * 0.9999 && e(2) <= max (l) * 1.0001);
%! assert (e(2) / e(1) > 0.5 * cond (full (A)));
%!test
%! % functions get vectors of the kind of b, and what stands behind x0
%! f = @(x, s) s * (A * x);
%! [x, flag] = kry_pcg (f, b, 1e-8, 200, [], [], [], 2);
%! assert (flag, 0); assert (norm (2 * A * x - b) <= 1.1e-8 * norm (b));
%! a = gpuMatrix (A);
%! [x, flag] = kry_pcg (@(x) a * x, gpuMatrix (b), 1e-8, 200);
%! assert (flag, 0); assert (class (x), 'gpuMatrix');
%!test
%! % maxit 0, and a right-hand side of zeros
%! [x, flag, relres, iter, resvec] = kry_pcg (A, b, 1e-8, 0);
%! assert (x, zeros (n^2, 1)); assert ([flag relres iter], [1 1 0]); assert (resvec, norm (b), 1e-12);
%! [x, flag] = kry_pcg (gpuMatrix (A), zeros (n^2, 1));
%! assert (flag, 0); assert (gather (x), zeros (n^2, 1));
%!test
%! % messages, if nobody asks for a flag
%! text = evalc ('x = kry_pcg (A, b, 1e-8, 200);');
%! assert (~isempty (strfind (text, 'converged at iteration')));
%! text = evalc ('x = kry_pcg (A, b, 1e-8, 2);');
%! assert (~isempty (strfind (text, 'limit of iterations')));
%!error id=kry:size kry_pcg (A, b')
%!error id=kry:size kry_pcg (A, [1; 2])
%!error id=kry:argument kry_pcg (ones (2, 3), [1; 2])
%!error id=kry:argument kry_pcg (int8 (1), 1)
%!error id=kry:argument kry_pcg (A)
%!error id=kry:type kry_pcg (A, int8 (b))
%!error id=kry:nan kry_pcg (sparse ([NaN 0; 0 1]), [1; 1]);
%!error id=kry:size kry_pcg (A, b, [], [], kry_precond (speye (3), 'jacobi'));
%!error <is nan> kry_pcg (speye (2), [NaN; 1]);
%!warning id=kry:tolerance [~, ~] = kry_pcg (A, b, 2);
