function varargout = gather (varargin)
  % gather (x)   Numbers of the host are what they are: gather works on a gpuMatrix or without
  varargout = varargin;
end

%!assert (gather ([1 2]), [1 2])
