function build_matlab (where)
  % build_matlab (), build_matlab (where)   Build kry_mex for MATLAB from the sources beside this file
  %
  % Writes the functions of methods/functions to inst/@gpuMatrix, too.
  %
  % where is the prefix that kry is installed in; default /usr/local. Then: addpath of the folder inst.
  if nargin < 1, where = '/usr/local'; end
  here = fileparts (mfilename ('fullpath'));
  files = dir (fullfile (here, 'src', '*.c'));
  sources = cellfun (@(f) fullfile (here, 'src', f), {files.name}, 'UniformOutput', false);
  mex ('-R2018a', 'CFLAGS=$CFLAGS -std=gnu11', ['-I' fullfile(where, 'include')], ...
       ['-L' fullfile(where, 'lib')], ['LDFLAGS=$LDFLAGS -Wl,-rpath,' fullfile(where, 'lib')], ...
       '-outdir', fullfile (here, 'inst'), '-output', 'kry_mex', sources{:}, '-lkry-queue', '-lkry-eigenvalues', '-lkry', '-lOpenCL');
  lines = regexp (fileread (fullfile (here, 'methods', 'functions')), '^(\w+): (.*?)$', 'tokens', 'lineanchors');
  for k = 1:numel (lines) % the functions that come of a pattern
    pattern = fileread (fullfile (here, 'methods', [lines{k}{1} '.m']));
    for name = strsplit (strtrim (lines{k}{2}))
      out = fopen (fullfile (here, 'inst', '@gpuMatrix', [name{1} '.m']), 'w');
      fprintf (out, '%s', strrep (pattern, 'NAME', name{1}));
      fclose (out);
    end
  end
end
