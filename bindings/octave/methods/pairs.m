function z = NAME (varargin)
  % NAME (a, b)   NAME of each two numbers, by a kernel on the device; sizes of 1 are repeated
  %
  % Queued: returns at once. Of sparse matrices by the host.
  z = each_pair ('NAME', 'NAME', varargin{:});
end
