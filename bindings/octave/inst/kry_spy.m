function kry_spy (A)
  % kry_spy (A)   Show where A, a gpuMatrix or a matrix of the host, is not zero
  %
  % Of large matrices as many blocks as there is room for, darker where more entries are.
  %
  % See also: spy, kry_plot_convergence
  if isobject (A), A = gather (A); end
  [m, n] = size (A);
  [i, j] = find (A);
  most = 400;
  if max (m, n) <= most
    plot (j, i, '.', 'markersize', max (2, min (12, round (200 / max ([m n 1])))));
    axis ([0.5, n + 0.5, 0.5, m + 0.5]);
    axis ('ij', 'square');
  else
    side = ceil (max (m, n) / most);
    count = accumarray ([ceil(i(:) / side), ceil(j(:) / side)], 1, [ceil(m / side), ceil(n / side)]);
    imagesc ([1 n], [1 m], -log1p (count));
    colormap (gray (64));
    axis ('square');
  end
  xlabel (sprintf ('%dx%d, %d entries', m, n, numel (i)));
end

%!demo
%! % the matrix of a grid, from the device
%! T = toeplitz (sparse ([2 -1 zeros(1, 8)]));
%! A = gpuMatrix (kron (T, speye (10)) + kron (speye (10), T));
%! kry_spy (A);

%!demo
%! % a larger one, by blocks
%! T = toeplitz (sparse ([2 -1 zeros(1, 48)]));
%! kry_spy (kron (T, speye (50)) + kron (speye (50), T));
