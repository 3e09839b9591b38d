% timings.m - what a call costs beside the C call, and whether work is queued. Prints comments: a loaded
% machine is no judge. On Linux the time of Octave's own thread, which a loaded machine disturbs less.
n = 1000;
function t = now_here ()
  f = fopen (sprintf ('/proc/self/task/%d/schedstat', getpid ()));
  if f < 0, t = time (); return; end
  t = fscanf (f, '%f', 1) * 1e-9;
  fclose (f);
end
a = gpuMatrix (1); b = gpuMatrix (2);
p = handle_of (a); q = handle_of (b);
h = cell (1, n);
best = Inf (1, 4);
for round = 1:6
  kry_mex ('finish');
  start = now_here (); for k = 1:n, c = a + b; end, best(1) = min (best(1), now_here () - start);
  kry_mex ('finish');
  start = now_here (); for k = 1:n, h{k} = kry_mex ('plus', p, q); end, best(2) = min (best(2), now_here () - start);
  kry_mex ('finish');
  start = now_here (); for k = 1:n, kry_mex ('free', h{k}); end, best(3) = min (best(3), now_here () - start);
  start = now_here (); for k = 1:n, c = 2 + a; end, best(4) = min (best(4), now_here () - start);
end
best = best / n * 1e6;
fprintf ('# a + b: %.1f us; of these kry_mex: %.1f us; so the class costs %.1f us. 2 + a: %.1f us\n', ...
         best(1), best(2) + best(3), best(1) - best(2) - best(3), best(4));
A = gpuMatrix (rand (600));
gather (A * A);
start = tic (); B = A * A; submit = toc (start);
gather (B); done = toc (start);
fprintf ('# A * A of 600: submitted in %.0f us, there after %.0f us\n', 1e6 * submit, 1e6 * done);
tap (submit < done / 2, 'a product returns before it is computed');
