function tap (good, what, more)
  % One line of TAP
  words = {'not ok', 'ok'};
  if nargin < 3, more = ''; else, more = [' ' more]; end
  fprintf ('%s - %s%s\n', words{1 + logical(good)}, what, more);
  fflush (stdout);
end
