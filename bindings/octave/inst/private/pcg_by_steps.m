function [x, flag, relres, iter, resvec, eigest] = pcg_by_steps (A, b, tol, maxit, M1, M2, x0, wanted, more)
  % Conjugate gradients step by step, for functions, complex numbers and estimates of eigenvalues.
  %
  % M. R. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear systems (1952); the
  % eigenvalues: Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 6.7.3:
  % the Lanczos matrix has 1 / alpha_j + beta_j / alpha_j-1 on its diagonal, sqrt (beta_j+1) / alpha_j beside.
  on_host = ~vectors_on_device (A, b, M1, M2, x0);
  [b, x0] = deal (place (b, on_host), place (x0, on_host));
  product = product_with (A, on_host, more);
  norm_b = norm (b);
  x = x0;
  if isempty (x), x = place (zeros (size (b)), on_host); end
  flag = 1; iter = 0; steps = 0;
  best = x;
  r = b - product (x);
  resvec = norm (r);
  scaled = []; alphas = []; betas = [];
  p = []; old_tau = 1;
  exact = true;        % r is b - A * x, not what the recurrence made of it
  checked = resvec(1); % norm of the last r that was exact
  [precondition, flag] = preconditioner_of (M1, M2, on_host, more, r, flag);
  while flag == 1
    if ~exact && resvec(end) <= tol * norm_b % the recurrence says so: is it true of x?
      r = b - product (x);
      resvec(end) = norm (r);
      exact = true;
      if resvec(end) > tol * norm_b && resvec(end) > checked / 2, flag = 3; end
      checked = resvec(end);
    end
    if flag == 3 || resvec(end) <= tol * norm_b || steps >= maxit, break; end
    z = precondition (r);
    tau = inner (z, r);
    beta = tau / old_tau;
    old_tau = tau;
    if exact, beta = 0; p = z; else, p = z + beta * p; end
    q = product (p);
    curvature = inner (p, q);
    scaled(end+1) = sqrt (tau); %#ok
    if ~is_positive (tau, tol) || ~is_positive (curvature, tol)
      flag = 4;
      break;
    end
    alpha = tau / curvature;
    step = alpha * p;
    x = x + step;
    r = r - alpha * q;
    exact = false;
    steps = steps + 1;
    alphas(steps) = alpha; betas(steps) = beta; %#ok
    resvec(end+1, 1) = norm (r); %#ok
    if resvec(end) <= resvec(iter + 1), best = x; iter = steps; end
    if norm (step) <= eps * norm (x), flag = 3; end
  end
  eigest = [NaN NaN];
  if wanted
    eigest = estimate (flag, alphas, betas, steps);
    if flag ~= 2, scaled(numel (resvec)) = sqrt (inner (r, precondition (r))); else, scaled = NaN; end
    resvec = [resvec, reshape(scaled(1:numel (resvec)), [], 1)];
  end
  x = best;
  if ~exact || iter < steps, resvec(iter + 1, 1) = norm (b - product (x)); end
  relres = resvec(iter + 1, 1) / norm_b;
  if flag == 2, relres = 1; end
  if flag == 1 && relres <= tol, flag = 0; end
end

function good = is_positive (t, tol)
  % A number that is real but for rounding, and positive
  good = real (t) > 0 && abs (imag (t)) < abs (real (t)) * tol;
  if isreal (t), good = t > 0; end
end

function t = inner (a, b)
  if isobject (a) || isobject (b), t = dot (a, b); else, t = a' * b; end
end

function eigest = estimate (flag, alphas, betas, steps)
  eigest = [NaN NaN];
  if flag == 4
    warning ('kry:eigest', 'kry_pcg: no estimates of eigenvalues: the matrix is not positive definite');
  elseif steps < 2
    warning ('kry:eigest', 'kry_pcg: no estimates of eigenvalues: iteration converged too fast');
  else
    k = steps - 1;
    d = 1 ./ alphas(1:k);
    d(2:k) = d(2:k) + betas(2:k) ./ alphas(1:k-1);
    e = sqrt (betas(2:k)) ./ alphas(1:k-1);
    l = eig (diag (d) + diag (e, 1) + diag (e, -1));
    eigest = [min(l), max(l)];
  end
end

% ---- where vectors are, and what is done with them ----

function yes = vectors_on_device (A, b, M1, M2, x0)
  % There if b or the guess is; and if all that meets them is.
  yes = isobject (b) || isobject (x0) || ...
        (isa (A, 'gpuMatrix') && isreal (b) && isreal (x0) && is_here (M1) && is_here (M2));
  if ~isobject (b) && ~isreal (b), yes = false; end
  if ~isobject (A) && ~isa (A, 'function_handle') && ~isreal (A), yes = false; end
end

function yes = is_here (M)
  yes = isempty (M) || isa (M, 'kryPrecond') || (isa (M, 'gpuMatrix') && ~issparse (M));
end

function x = place (x, on_host)
  if isempty (x), return; end
  if on_host && isobject (x), x = gather (x); end
  if ~on_host && ~isobject (x), x = gpuMatrix (x); end
end

function f = product_with (A, on_host, more)
  if isa (A, 'function_handle')
    f = @(x) A (x, more{:});
  elseif isa (A, 'gpuMatrix') || isreal (A)
    if ~isobject (A), A = gpuMatrix (A); end
    if on_host, f = @(x) times_real (A, x); else, f = @(x) A * x; end
  else
    R = gpuMatrix (real (A)); I = gpuMatrix (imag (A));
    f = @(x) times_real (R, x) + 1i * times_real (I, x);
  end
end

function y = times_real (A, x)
  if isreal (x)
    y = gather (A * x);
  else
    y = gather (A * [real(x), imag(x)]);
    y = y(:, 1) + 1i * y(:, 2);
  end
end

function [f, flag] = preconditioner_of (M1, M2, on_host, more, r, flag)
  f = @(r) r;
  [f1, singular1] = inverse_of (M1, on_host, more);
  [f2, singular2] = inverse_of (M2, on_host, more);
  if singular1 || singular2, flag = 2; return; end
  f = @(r) f2 (f1 (r));
  if ~isa (M1, 'function_handle') && ~isa (M2, 'function_handle') && ~ischar (M1) && ~ischar (M2), return; end
  was = warning ();
  undo = onCleanup (@() warning (was));
  warning ('error', 'Octave:singular-matrix'); % of functions that solve with a matrix of their own
  try
    f (r);
  catch err
    if isempty (regexpi (err.identifier, 'singular')), rethrow (err); end
    flag = 2;
  end
end

function [f, singular] = inverse_of (M, on_host, more)
  singular = false;
  if isempty (M)
    f = @(r) r;
  elseif ischar (M)
    f = str2func (M);
    f = @(r) f (r, more{:});
  elseif isa (M, 'function_handle')
    f = @(r) M (r, more{:});
  elseif isa (M, 'kryPrecond')
    [~, deflation] = handle_of (M);
    if ~isempty (deflation)
      error ('kry:unsupported', ['kry_pcg: deflation does not go with functions, complex numbers, ' ...
             'estimates of eigenvalues, or maxit = 0']);
    end
    if on_host, f = @(r) gather (M \ r); else, f = @(r) M \ r; end
  elseif (isa (M, 'gpuMatrix') || isfloat (M)) && size (M, 1) == size (M, 2)
    [f, singular] = matrix_inverse (M);
    if ~on_host, f = @(r) gpuMatrix (f (gather (r))); end
  else
    error ('kry:argument', 'kry_pcg: M1 and M2 must be square matrices, functions, or of kry_precond');
  end
end

function [f, singular] = matrix_inverse (M)
  % Factors once, on the host; triangular ones are their own
  if isobject (M), M = gather (M); end
  f = [];
  if istril (M) || istriu (M)
    singular = any (diag (M) == 0);
    f = @(r) M \ r;
  elseif issparse (M)
    [L, U, P, Q] = lu (M);
    singular = any (diag (U) == 0);
    f = @(r) Q * (U \ (L \ (P * r)));
  else
    [L, U, p] = lu (M, 'vector');
    singular = any (diag (U) == 0);
    f = @(r) U \ (L \ r(p, :));
  end
end
