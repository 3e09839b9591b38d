function M = kry_precond (A, kind, varargin)
  % kry_precond (A, kind), kry_precond (A, kind, 'deflation', Z)   A preconditioner on the device
  %
  % For kry_pcg and pcg, in the place of M1; it may be used for many solves. A is a gpuMatrix or a matrix of
  % the host, symmetric positive definite. kind is a word of kry's:
  %
  %   jacobi, block-jacobi[:ROWS]         the diagonal, or blocks of it
  %   ic[:ROWS], block-ic[:ROWS]          incomplete Cholesky factors of blocks: the same by two names
  %   ic0                                 those of the whole matrix
  %   ip, ip:unscaled, ip:drop            the incomplete Poisson inverse
  %   ssor-ai[:DEGREE]                    an approximate inverse of SSOR
  %   fsai[:POWER]                        an approximate inverse in sparse factors
  %   chebyshev[:DEGREE], neumann[:DEGREE]  polynomials in A
  %   amg[:SETTING,...]                   algebraic multigrid
  %   icc[:LEVEL,HOW], ilu[:LEVEL,HOW]    incomplete factors with levels of fill
  %   ras[:OVERLAP]                       the same of sub-domains that overlap
  %   auto                                amg, block-ic or jacobi, by a look at A
  %   none                                deflation alone
  %
  % and behind block-ic, ic0, icc, block-ilu, ilu0, ilu: @single or @half, how they keep their numbers. Deflation takes Z, a
  % matrix of few columns, or a word: stripes:K, graph:K. M \ r applies it. docs/preconditioners.md.
  %
  % Example:
  %   A = gpuMatrix (toeplitz (sparse ([2 -1 zeros(1, 98)])));
  %   M = kry_precond (A, 'ic', 'deflation', 'stripes:10');
  %   x = kry_pcg (A, ones (100, 1), 1e-8, 100, M);
  %
  % See also: kry_pcg
  if nargin < 2 || ~ischar (kind)
    error ('kry:argument', 'kry_precond: needs a matrix and the kind of the preconditioner');
  end
  if isempty (varargin)
    Z = [];
  elseif numel (varargin) == 2 && strcmp (varargin{1}, 'deflation')
    Z = varargin{2};
  else
    error ('kry:option', 'kry_precond: the one option is ''deflation'' with its vectors or a word');
  end
  source = A;
  if ~isa (A, 'gpuMatrix'), A = gpuMatrix (A); end
  if ~isempty (Z) && ~issparse (A), A = sparse (A); end
  h = []; d = [];
  if ~strcmp (kind, 'none'), h = kry_mex ('precond', handle_of (A), kind); end
  label = kind;
  if ischar (Z)
    label = [label ', deflation ' Z];
  elseif ~isempty (Z)
    label = sprintf ('%s, deflation with %d vectors', label, size (Z, 2));
  end
  if ~isempty (Z)
    if isa (Z, 'gpuMatrix'), Z = handle_of (Z); end
    try
      d = kry_mex ('deflation', handle_of (A), Z);
    catch err
      if ~isempty (h), kry_mex ('free', h); end
      rethrow (err);
    end
  end
  M = kryPrecond (h, d, sprintf ('%s (%dx%d)', label, size (A)), A, source);
end

%!shared A, b
%! T = toeplitz (sparse ([2 -1 zeros(1, 18)]));
%! A = kron (T, speye (20)) + kron (speye (20), T); b = A * ones (400, 1);
%!test
%! for kind = {'jacobi', 'ic', 'block-ic:40', 'ip', 'chebyshev:3', 'neumann', 'ssor-ai', 'fsai', 'block-jacobi', ...
%!              'amg', 'amg:coarsening=aggregation,coarsest=30', 'auto'}
%!   [x, flag, ~, iter] = kry_pcg (A, b, 1e-8, 400, kry_precond (A, kind{1}));
%!   assert (flag, 0);
%!   assert (x, ones (400, 1), 1e-5);
%!   assert (iter <= 60);
%! end
%!test
%! % one for many solves, with deflation by words and by vectors
%! M = kry_precond (gpuMatrix (A), 'jacobi', 'deflation', 'stripes:20');
%! Z = kron (eye (10), ones (40, 1));
%! for c = [b, 2 * b]
%!   [x, flag, ~, iter] = kry_pcg (A, c, 1e-8, 400, M);
%!   assert (flag, 0); assert (iter < 40); assert (norm (A * x - c) <= 1e-7 * norm (c));
%! end
%! N = kry_precond (A, 'none', 'deflation', Z);
%! [x, flag] = kry_pcg (A, b, 1e-8, 400, N);
%! assert (flag, 0);
%! [x, flag] = kry_pcg (full (A), b, 1e-8, 400, kry_precond (full (A), 'jacobi', 'deflation', Z));
%! assert (flag, 0); assert (norm (A * x - b) <= 1e-7 * norm (b));
%! fail ('kry_pcg (2 * A, b, 1e-8, 400, N)', 'another matrix');
%!error id=kry:option kry_precond (A, 'nonsense')
%!error id=kry:option kry_precond (A, 'jacobi', 'deflation', 'nonsense:3')
%!error id=kry:option kry_precond (A, 'jacobi', 'nonsense', 3)
%!error id=kry:size kry_precond (ones (2, 3), 'jacobi')
%!error id=kry:argument kry_precond (A)
%!test
%! n = kry_mex ('live');
%! M = kry_precond (A, 'ic'); clear M
%! assert (kry_mex ('live'), n);
