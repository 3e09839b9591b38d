function z = along (name, how, a, before, varargin)
  % A sum or the like along the first axis that is longer than 1, or along axis dim: kry_mex's reduction `how`,
  % or the host's function `name` of sparse and empty matrices and of other arguments. before: what stands
  % between a and dim, in a cell
  z = [];
  if isobject (a) && numel (varargin) < 2
    s = kry_mex ('info', a.h);
    dim = 1 + (s(1) == 1);
    if ~isempty (varargin), dim = host_of (varargin{1}); end
    if isnumeric (dim) && isscalar (dim) && ~is_axis (dim)
      error ('kry:argument', '%s: the dimension DIM must be a whole number from 1 on', name);
    end
    if is_axis (dim) && ~s(4) && all (s(1:2) > 0)
      if dim > 2, z = a; else, z = reduced (a, how, dim); end
    end
  end
  if ~isobject (z)
    if isempty (varargin), before = {}; end
    z = via_host (name, a, before{:}, varargin{:});
  end
end
