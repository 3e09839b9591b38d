% long_solve.m - a solve that takes minutes if nobody stops it; the test sends SIGINT.
n = 400000;
A = gpuMatrix (spdiags (ones (n, 1) * [-1 2 -1], -1:1, n, n));
b = ones (n, 1);
[~, ~] = kry_pcg (A, b, 1e-2, 2); % kernels
printf ("begin\n"); fflush (stdout);
start = tic ();
try
  [x, flag] = kry_pcg (A, b, 1e-14, 400000);
  printf ("ended by itself with flag %d\n", flag);
catch err
  printf ("%s after %.2f s\n", err.identifier, toc (start));
end
fflush (stdout);
% and everything goes on
[x, flag, ~, iter] = kry_pcg (A, b, 1e-14, 3);
printf ("then %d %d\n", flag, iter);
