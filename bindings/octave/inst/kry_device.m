function info = kry_device (spec)
  % kry_device (), kry_device (spec), kry_device ('all')   The device in use, another one, or all there are
  %
  % spec is 'gpu', 'cpu', 'gpu:1' or a part of a name, or '' for the first GPU, else the first device: what
  % is used from the beginning, unless the environment's KRY_DEVICE says otherwise. Choosing another device
  % forgets every gpuMatrix and preconditioner. Without a result it is shown.
  %
  % info is a struct with the name, vendor, platform, driver, gpu, double (precision), units and bytes of the
  % device; of 'all' a cell array of them. Without any device the error is kry:device.
  %
  % Example:
  %   info = kry_device ();
  %   disp (info.name)
  if nargin && strcmp (spec, 'all')
    all = kry_mex ('devices');
  elseif nargin
    all = {kry_mex('device', spec)};
  else
    all = {kry_mex('device')};
  end
  if nargout
    info = all;
    if ~(nargin && strcmp (spec, 'all')), info = all{1}; end
    return;
  end
  words = {'no double precision', 'double precision'};
  for k = 1:numel (all)
    d = all{k};
    fprintf ('%s, %s: %s, %.1f GiB, %d units\n', d.name, d.platform, words{1 + d.double}, d.bytes / 2^30, d.units);
  end
end

%!test
%! d = kry_device ();
%! assert (ischar (d.name));
%! all = kry_device ('all');
%! assert (iscell (all) && numel (all) >= 1);
%! assert (~isempty (evalc ('kry_device ()')));
%!test
%! % a gpuMatrix of a device that was left
%! a = gpuMatrix (1);
%! kry_device ('');
%! try, gather (a), assert (false); catch e, assert (e.identifier, 'kry:handle'); end
%! b = a; clear a b
%! assert (kry_mex ('live'), 0);
%!error id=kry:device kry_device ('no such device')
