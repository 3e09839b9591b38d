function varargout = NAME (varargin)
  % NAME (...)   NAME, computed by the host: every gpuMatrix is gathered, which waits
  %
  % Real matrices among the results go back to the device; complex and logical ones, integers, texts and arrays
  % of more than two dimensions stay on the host.
  [varargout{1:max(nargout, 1)}] = via_host ('NAME', varargin{:});
end
