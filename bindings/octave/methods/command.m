function varargout = NAME (varargin)
  % NAME (...)   NAME, done by the host: every gpuMatrix is gathered, which waits
  [varargout{1:nargout}] = on_host ('NAME', varargin{:});
end
