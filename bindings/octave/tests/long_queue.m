% long_queue.m - a queue of products for half a minute, and somebody who waits for the last; the test sends SIGINT.
a = gpuMatrix (rand (900) / 450);
gather (a * a); gather (sum (a)); % kernels
start = tic (); gather (a * a); once = toc (start);
b = a;
for k = 1:ceil (30 / once), b = b * a; end
printf ("begin\n"); fflush (stdout);
start = tic ();
try
  gather (b);
  printf ("ended by itself\n");
catch err
  printf ("%s after %.2f s\n", err.identifier, toc (start));
end
start = tic ();
try, gather (b); catch err, printf ("b: %s\n", err.identifier); end
gather (sum (gpuMatrix ([1 2])));
took = toc (start);
printf ("then %d (%.2f s; a product takes %.2f s)\n", took < 5 + 10 * once, took, once);
