function [V, D, flag] = kry_eigs (A, varargin)
  % d = kry_eigs (A, k, sigma, opts), kry_eigs (A, B, k, sigma, opts), [V, D, flag] = kry_eigs (...)
  %
  % Eigenvalues of A * x = lambda * B * x, as Octave's eigs, on the device.
  %
  %   A      symmetric; a gpuMatrix, or a matrix of the host (which goes to the device)
  %   B      symmetric positive definite; default the identity
  %   k      how many, 1 to 64; default min (rows (A), 6)
  %   sigma  'la', 'sa': the largest or the smallest; 'lm': the largest in magnitude (default); a number: those nearest
  %          to it; 'sm': 0. A - sigma * B is then factored on the host
  %   opts   a struct with any of: tol, of norm (A*x - lambda*B*x) / ((norm (A) + abs (lambda) * norm (B)) * norm (x)),
  %          default 1e-9, single 1e-5; maxit, 1000; p, vectors of the Krylov space, k + 2 to 200; precond, one of
  %          kry_precond for A without deflation, with 'sa': LOBPCG then takes the place of Lanczos
  %
  %   d      a column: from the first end, or the nearest first
  %   V      their vectors, V' * B * V = I; a gpuMatrix if A is one
  %   D      diag (d)
  %   flag   0: all have converged; else 1, and without flag a warning kry:eigs
  %
  % Example:
  %   A = gpuMatrix (toeplitz (sparse ([2 -1 zeros(1, 98)])));
  %   d = kry_eigs (A, 4, 'sm');
  %
  % See also: eigs, kry_precond
  if nargin < 1 || ~isnumeric (A) && ~isobject (A), error ('kry:argument', 'kry_eigs: needs a matrix A'); end
  B = [];
  if nargin > 1 && ~isscalar (varargin{1}) && ~isempty (varargin{1})
    B = varargin{1}; varargin(1) = [];
  end
  given = [varargin, cell(1, 3)];
  [k, sigma, opts] = given{1:3};
  if isempty (k), k = min (size (A, 1), 6); end
  if isempty (sigma), sigma = 'lm'; end
  if isempty (opts), opts = struct (); end
  M = [];
  if isfield (opts, 'precond')
    deflation = 1;
    if isa (opts.precond, 'kryPrecond'), [M, deflation] = handle_of (opts.precond); end
    if ~isequal (sigma, 'sa') || ~isempty (deflation)
      error ('kry:option', 'kry_eigs: opts.precond is one of kry_precond without deflation, with sigma = ''sa''');
    end
  end
  if isnumeric (sigma) && isscalar (sigma)
    which = {'near'};
  else
    words = struct ('la', {{'la'}}, 'sa', {{'sa'}}, 'lm', {{'la', 'sa'}}, 'sm', {{'near'}});
    if ~ischar (sigma) || ~isfield (words, sigma)
      error ('kry:option', 'kry_eigs: sigma is ''la'', ''sa'', ''lm'', ''sm'' or a number');
    end
    which = words.(sigma); sigma = 0;
  end
  on_device = isobject (A);
  A = to_device (A);
  b = [];
  if ~isempty (B), B = to_device (B); b = handle_of (B); end
  d = []; V = []; flag = 0; why = '';
  for end_of = which
    [h, values, missed, text] = kry_mex ('eigen', handle_of (A), b, M, double (k), end_of{1}, double (sigma), ...
                                         option (opts, 'tol'), option (opts, 'maxit'), option (opts, 'p'));
    d = [d; values]; flag = max (flag, missed); %#ok
    vectors = gpuMatrix (h, 'handle');
    if isempty (V), V = vectors; else, V = [V, vectors]; end
    if missed, why = text; end
  end
  if numel (which) > 1 % both ends, which meet where 2 k is more than n
    n = size (A, 1); there = 1:numel (d);
    if 2 * k > n, there = [1:k, k + (1:n - k)]; end
    [~, order] = sort (abs (d(there)), 'descend');
    chosen = there(order(1:k));
    d = d(chosen);
    V = V(:, chosen);
  end
  if flag && nargout < 3, warning ('kry:eigs', 'kry_eigs: %s', why); end
  if nargout < 2, V = d; return; end
  D = diag (d);
  if ~on_device, V = gather (V); end
end

function A = to_device (A)
  if ~issparse (A), A = sparse (A); end
  if ~isobject (A), A = gpuMatrix (A); end
end

function number = option (opts, name)
  number = 0;
  if isfield (opts, name), number = double (opts.(name)); end
end

%!shared A, B, n, exact
%! n = 12; T = toeplitz (sparse ([2 -1 zeros(1, n - 2)]));
%! A = kron (T, speye (n)) + kron (speye (n), T); B = spdiags (linspace (1, 3, n^2)', 0, n^2, n^2);
%! exact = sort (eig (full (A)));
%!test
%! assert (kry_eigs (A, 5, 'sa'), exact(1:5), 1e-8);
%! assert (kry_eigs (A, 5, 'la'), exact(end:-1:end-4), 1e-8);
%! assert (kry_eigs (gpuMatrix (A), 5, 'sm'), exact(1:5), 1e-8);
%! d = kry_eigs (A - 4.5 * speye (n^2), 3); assert (d, [exact(1:3) - 4.5], 1e-8);
%! assert (kry_eigs (full (A)), exact(end:-1:end-5), 1e-8);
%!test
%! % vectors, B, a number inside, and a preconditioner
%! [V, D, flag] = kry_eigs (A, B, 4, 2.5, struct ('p', 30));
%! assert (flag, 0); assert (class (V), 'double');
%! assert (norm (A * V - B * V * D) < 1e-7); assert (V' * B * V, eye (4), 1e-10);
%! l = eig (full (A), full (B)); [~, i] = sort (abs (l - 2.5)); assert (sort (diag (D)), sort (l(i(1:4))), 1e-8);
%! a = gpuMatrix (A);
%! [V, D, flag] = kry_eigs (a, 3, 'sa', struct ('precond', kry_precond (a, 'jacobi')));
%! assert (flag, 0); assert (class (V), 'gpuMatrix'); assert (diag (D), exact(1:3), 1e-8);
%!test
%! % both ends that meet, one row, and what has not converged
%! assert (kry_eigs (diag ([-3 -2 1 4]), 3), [4; -3; -2], 1e-12);
%! assert (kry_eigs (5, 1), 5);
%! [~, ~, flag] = kry_eigs (A, 5, 'sa', struct ('maxit', 1)); assert (flag, 1);
%!error id=kry:size kry_eigs (ones (2, 3))
%!error id=kry:size kry_eigs (A, speye (3), 2)
%!error id=kry:option kry_eigs (A, 2, 'be')
%!error id=kry:option kry_eigs (A, 2, 'la', struct ('precond', kry_precond (A, 'jacobi')))
%!error id=kry:argument kry_eigs (A, 65)
%!error id=kry:argument kry_eigs ()
