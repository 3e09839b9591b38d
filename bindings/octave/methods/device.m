function varargout = NAME (varargin)
  % NAME (a)   NAME of each number, by a kernel on the device
  %
  % Queued: returns at once. A number whose NAME is complex is an error, raised when the result is waited for.
  % Of sparse matrices, and with more arguments or results, by the host.
  [varargout{1:max(nargout, 1)}] = each_number ('NAME', varargin{:});
end
