% examples.m - every function has a help text, and the examples in it run.
root = fileparts (which ('kry_pcg'));
for folder = {'@gpuMatrix', '@kryPrecond', ''}
  files = dir (fullfile (root, folder{1}, '*.m'));
  bad = '';
  seen = {};
  for k = 1:numel (files)
    file = fullfile (root, folder{1}, files(k).name);
    text = fileread (file);
    pattern = strrep (text, strtok (files(k).name, '.'), 'NAME');
    if any (strcmp (pattern, seen)), continue; end % one of many that came of a pattern
    seen{end+1} = pattern; %#ok
    text = get_help_text (file);
    if isempty (strtrim (text)), bad = [bad ' ' files(k).name ' has no help;']; end %#ok
    problem = run_examples (file);
    if ~isempty (problem), bad = [bad ' ' files(k).name ': ' problem ';']; end %#ok
  end
  if ~isempty (bad), fprintf ('#%s\n', bad); end
  tap (isempty (bad), ['examples ' folder{1}]);
end
