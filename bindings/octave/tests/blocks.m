% blocks.m - the %! blocks of every function of the installed package, and the examples in their help.
root = fileparts (which ('kry_pcg'));
folders = {'@gpuMatrix', '@kryPrecond', ''};
for folder = folders
  files = dir (fullfile (root, folder{1}, '*.m'));
  for k = 1:numel (files)
    name = fullfile (folder{1}, files(k).name);
    file = fullfile (root, name);
    if isempty (strfind (fileread (file), "\n%!")), continue; end % one that came of a pattern: each_function
    start = tic ();
    log = tempname ();
    out = fopen (log, 'w');
    [good, all] = test (file, 'quiet', out);
    fclose (out);
    if good < all, fprintf ('# %s\n', strrep (fileread (log), "\n", "\n# ")); end
    delete (log);
    tap (good == all, name, sprintf ('(%d of %d blocks, %.1f s)', good, all, toc (start)));
  end
end
