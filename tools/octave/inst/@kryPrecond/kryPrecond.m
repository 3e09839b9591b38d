function M = kryPrecond (h, deflation, label)
  % A preconditioner on the device; made by kry_precond
  if nargin < 3, error ('kry:argument', 'kryPrecond: use kry_precond'); end
  s.h = h;
  s.deflation = deflation;
  s.label = label;
  s.guard = onCleanup (@() release (h, deflation));
  M = class (s, 'kryPrecond');
end

function release (h, deflation)
  if ~isempty (h), kry_mex ('free', h); end
  if ~isempty (deflation), kry_mex ('free', deflation); end
end

%!error id=kry:argument kryPrecond ()
