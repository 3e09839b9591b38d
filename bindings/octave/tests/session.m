% session.m - what outlives a session, and what does not. KRY_FILE: where it is saved, and loaded by the
% second run.
file = getenv ('KRY_FILE');
if ~exist (file, 'file')
  a = gpuMatrix ([1 2 3]);
  n = 7;
  warning ('off', 'all');
  save ('-text', file, 'a', 'n');
  kry_device ('');
  try, gather (a); good = false; catch err, good = strcmp (err.identifier, 'kry:handle'); end
  tap (good, 'a gpuMatrix of a device that was left says kry:handle');
  b = gpuMatrix ([4 5]);
  clear all
  c = gpuMatrix (6);
  tap (isequal (gather (c), 6), 'clear all does no harm');
else
  load (file);
  try, gather (a); good = false; catch err, good = strcmp (err.identifier, 'kry:handle'); end
  tap (good && n == 7, 'a saved gpuMatrix of another session says kry:handle, and the rest is loaded');
end
