function kry_plot_convergence (varargin)
  % kry_plot_convergence (resvec), kry_plot_convergence (resvec, name, resvec, name, ...)
  %
  % Residuals of kry_pcg over iterations, in a logarithmic scale, each relative to its first.
  %
  % See also: kry_pcg
  if nargin < 1 || (nargin > 1 && mod (nargin, 2) == 1)
    error ('kry:argument', 'kry_plot_convergence: needs residuals, or pairs of residuals and a name');
  end
  names = {};
  for k = 1:2:nargin
    r = varargin{k};
    if ~isnumeric (r) || isempty (r)
      error ('kry:argument', 'kry_plot_convergence: residuals must be a vector of numbers');
    end
    if min (size (r)) > 1, r = r(:, 1); end
    semilogy (0:numel (r) - 1, r(:)' / max (r(1), realmin));
    hold ('on');
    if nargin > 1, names{end+1} = varargin{k+1}; end %#ok
  end
  hold ('off');
  xlabel ('iteration');
  ylabel ('relative residual');
  grid ('on');
  if ~isempty (names), legend (names{:}); end
end

%!demo
%! % plain, with incomplete factors, and with deflation
%! T = toeplitz (sparse ([2 -1 zeros(1, 28)]));
%! A = gpuMatrix (kron (T, speye (30)) + kron (speye (30), T)); b = ones (900, 1);
%! [~, ~, ~, ~, plain] = kry_pcg (A, b, 1e-8, 200);
%! [~, ~, ~, ~, ic] = kry_pcg (A, b, 1e-8, 200, kry_precond (A, 'ic'));
%! [~, ~, ~, ~, both] = kry_pcg (A, b, 1e-8, 200, kry_precond (A, 'ic', 'deflation', 'stripes:30'));
%! kry_plot_convergence (plain, 'plain', ic, 'ic', both, 'ic and deflation');

%!error id=kry:argument kry_plot_convergence ()
%!error id=kry:argument kry_plot_convergence ('x')
%!error id=kry:argument kry_plot_convergence ([1 2], 'x', [1 2])
