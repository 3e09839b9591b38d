function z = NAME (varargin)
  % NAME (m, n, 'like', a)   A matrix on the device, with the precision of the gpuMatrix a
  %
  % Without 'like' what NAME gives, on the host.
  z = filled ('NAME', varargin{:});
end
