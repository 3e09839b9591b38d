% pcg_blocks.m - the test blocks of Octave's own pcg, run on kry_pcg.
%
% They are read from the installed pcg.m, and pcg ( becomes kry_pcg ( in a copy that lives as long as the
% test. Prints one line of TAP for each file of blocks.
source = which ('pcg');
if isempty (regexp (source, 'pcg\.m$')), source = fullfile (OCTAVE_HOME (), 'share/octave', version (), 'm/sparse/pcg.m'); end
lines = strsplit (fileread (source), "\n");
blocks = lines(strncmp (lines, '%!', 2));
demo = false;
kept = {};
for k = 1:numel (blocks)
  if ~strncmp (blocks{k}, '%! ', 3) && numel (blocks{k}) > 2 && isletter (blocks{k}(3))
    demo = strncmp (blocks{k}, '%!demo', 6);
  end
  if ~demo, kept{end+1} = regexprep (blocks{k}, '\<pcg \(', 'kry_pcg ('); end %#ok
end
folder = tempname ();
mkdir (folder);
file = fullfile (folder, 'kry_pcg_blocks.m');
handle = fopen (file, 'w');
fprintf (handle, "%s\n", kept{:});
fclose (handle);
[good, all] = test (file, 'quiet', stdout);
delete (file);
rmdir (folder);
tap (good == all && all > 0, 'the test blocks of pcg.m', sprintf ('(%d of %d)', good, all));
