function varargout = NAME (varargin)
  % NAME (...)   NAME, computed by the host, where the results stay: every gpuMatrix is gathered, which waits
  [varargout{1:max(nargout, 1)}] = on_host ('NAME', varargin{:});
end
