% profiles.m - devices without double precision, and with kernels for GPUs: KRY_PROFILE says which.
A = single (rand (70, 50)); B = single (rand (50, 30)); x = single (rand (1000, 1));
a = gpuMatrix (A);
good = norm (gather (a * B) - A * B) < 1e-3 && isequal (gather (a'), A') && ...
       isequal (gather (a(3:2:end, [1 7])), A(3:2:end, [1 7])) && ...
       norm (gather (a ./ 3 + 2 * a) - (A / 3 + 2 * A)) < 1e-4 && ...
       abs (gather (sum (gpuMatrix (x))) - sum (x)) < 1e-2 && abs (norm (gpuMatrix (x)) - norm (x)) < 1e-3 && ...
       isequal (gather (max (a)), max (A)) && isequal (gather (max (a, [], 2)), max (A, [], 2));
tap (good, ['arithmetic with KRY_PROFILE=' getenv('KRY_PROFILE')]);
n = 20; T = toeplitz (sparse ([2 -1 zeros(1, n - 2)]));
S = kron (T, speye (n)) + kron (speye (n), T); b = single (S * ones (n^2, 1));
[y, flag] = kry_pcg (gpuMatrix (S, 'single'), b, 1e-4, 200, kry_precond (gpuMatrix (S, 'single'), 'ic'));
C = A(1:30, 1:30) + 30 * eye (30);
good = flag == 0 && norm (gather (y) - 1) < 0.1 && norm (C * gather (gpuMatrix (C) \ B(1:30, :)) - B(1:30, :)) < 1e-3;
tap (good, ['solves with KRY_PROFILE=' getenv('KRY_PROFILE')]);
d = kry_device ();
if ~d.double
  try, gpuMatrix (1); good = false; catch err, good = strcmp (err.identifier, 'kry:unsupported'); end
  tap (good, 'double precision is refused where there is none');
end
