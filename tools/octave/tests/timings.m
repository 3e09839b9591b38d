% timings.m - what a call costs beside the C call, and whether work is queued. Prints comments: a loaded
% machine is no judge.
a = gpuMatrix (1); b = gpuMatrix (2);
n = 2000;
for k = 1:50, c = a + b; end
gather (c);
start = tic (); for k = 1:n, c = a + b; end, all = toc (start) / n;
gather (c);
p = handle_of (a); q = handle_of (b);
h = cell (1, n);
start = tic (); for k = 1:n, h{k} = kry_mex ('plus', p, q); end, inner = toc (start) / n;
for k = 1:n, kry_mex ('free', h{k}); end
start = tic (); for k = 1:n, kry_mex ('live'); end, call = toc (start) / n;
fprintf ('# a + b: %.1f us; its kry_mex call: %.1f us; an empty kry_mex call: %.1f us\n', 1e6 * [all inner call]);
fprintf ('# so that the class costs %.1f us\n', 1e6 * (all - inner));
A = gpuMatrix (rand (600));
gather (A * A);
start = tic (); B = A * A; submit = toc (start);
gather (B); done = toc (start);
fprintf ('# A * A of 600: submitted in %.0f us, there after %.0f us\n', 1e6 * submit, 1e6 * done);
tap (submit < done / 2, 'a product returns before it is computed');
