function problem = run_examples (file)
  % Run the examples in a help text: what is indented behind a line "Example:". '' if all went well.
  problem = '';
  text = fileread (file);
  parts = regexp (text, '%\s*Example:\n((?:\s*%    [^\n]*\n)+)', 'tokens');
  code = '';
  for k = 1:numel (parts)
    code = [code, regexprep(parts{k}{1}, '^\s*%', '', 'lineanchors')]; %#ok
  end
  try
    evalc (code);
  catch err
    problem = err.message;
  end
end
