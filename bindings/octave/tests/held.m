% held.m - results that nobody holds leave no memory behind, and no handles. Linux tells how much there is.
n = 100; % of 8 MB
function mb = resident ()
  f = fopen ('/proc/self/statm');
  if f < 0, mb = 0; return; end
  pages = fscanf (f, '%f');
  fclose (f);
  mb = pages(2) * 4096 / 2^20;
end
a = gpuMatrix (rand (1000));
b = a + a; kry_mex ('finish');
before = resident ();
for k = 1:n, b = a + a; end
kry_mex ('finish');
grown = resident () - before;
tap (grown < 400, 'results that nobody holds leave no memory behind', sprintf ('(%.0f MB for %d of 8 MB)', grown, n));
clear a b
live = kry_mex ('live');
S = speye (200);
for k = 1:20, M = kry_precond (S, 'ic'); [x, flag] = kry_pcg (gpuMatrix (S), ones (200, 1), 1e-8, 10, M); end
clear M x
tap (kry_mex ('live') == live, 'and no handles');
