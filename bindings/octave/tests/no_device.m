% no_device.m - in an environment without the device that is asked for
try
  gpuMatrix (1);
  good = false;
catch err
  good = strcmp (err.identifier, 'kry:device');
  fprintf ('# %s\n', strtok (err.message, "\n"));
end
tap (good, getenv ('KRY_WHAT'));
