function varargout = each_number (name, a, varargin)
  % A function of each number, on the device if it can be
  if nargin == 2 && nargout < 2
    h = kry_mex ('unary', a.h, name);
    if h ~= 0
      z = a;
      z.h = h;
      z.guard = onCleanup (@() kry_mex ('free', h));
      varargout = {z};
      return;
    end
  end
  [varargout{1:max(nargout, 1)}] = via_host (name, a, varargin{:});
end
