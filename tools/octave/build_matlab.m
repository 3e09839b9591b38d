function build_matlab (where)
  % build_matlab (), build_matlab (where)   Build kry_mex for MATLAB from the sources beside this file
  %
  % where is the prefix that kry is installed in; default /usr/local. Then: addpath of the folder inst.
  if nargin < 1, where = '/usr/local'; end
  here = fileparts (mfilename ('fullpath'));
  files = dir (fullfile (here, 'src', '*.c'));
  sources = cellfun (@(f) fullfile (here, 'src', f), {files.name}, 'UniformOutput', false);
  mex ('-R2018a', 'CFLAGS=$CFLAGS -std=gnu11', ['-I' fullfile(where, 'include')], ...
       ['-L' fullfile(where, 'lib')], ['LDFLAGS=$LDFLAGS -Wl,-rpath,' fullfile(where, 'lib')], ...
       '-outdir', fullfile (here, 'inst'), '-output', 'kry_mex', sources{:}, '-lkry', '-lOpenCL');
end
