function dim = statistics_axis (a, dim)
  % The axis of a mean on the device: of a dense matrix with numbers, along axis 1 or 2; 0: the host computes it
  s = size (a);
  if nargin < 2, dim = 1 + (s(1) == 1); end
  dim = host_of (dim);
  if ~isobject (a) || issparse (a) || any (s == 0) || ~is_axis (dim) || dim > 2, dim = 0; end
end
