function M = kryPrecond (h, deflation, label, matrix, source)
  % A preconditioner on the device; made by kry_precond
  if nargin < 5, error ('kry:argument', 'kryPrecond: use kry_precond'); end
  s.h = h;
  s.deflation = deflation;
  s.label = label;
  s.matrix = matrix; % what it was made from, on the device
  s.source = source; % what kry_precond was given
  s.guard = onCleanup (@() release (h, deflation));
  M = class (s, 'kryPrecond');
end

function release (h, deflation)
  if ~isempty (h), kry_mex ('free', h); end
  if ~isempty (deflation), kry_mex ('free', deflation); end
end

%!error id=kry:argument kryPrecond ()
