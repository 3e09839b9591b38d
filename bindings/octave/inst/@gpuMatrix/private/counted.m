function n = counted (what, a, varargin)
  % How many numbers of a are of a kind that reduced knows, along the first axis that is longer than 1 or along axis
  % varargin{1}; on the host. [] where the host has to look itself: sparse and empty matrices, other axes
  s = size (a);
  n = [];
  if ~isobject (a) || issparse (a) || ~all (s > 0)
    return
  elseif nargin < 3
    axis = 1 + (s(1) == 1);
  elseif nargin == 3 && is_axis (varargin{1}) && varargin{1} <= 2
    axis = host_of (varargin{1});
  else
    return
  end
  n = gather (reduced (a, what, axis));
end
