function z = by_host (f, varargin)
  % What the device does not do: f of the same matrices on the host, and back, in the precision that
  % they have.
  narrow = false;
  for k = 1:numel (varargin)
    x = varargin{k};
    if isobject (x)
      s = kry_mex ('info', x.h);
      narrow = narrow || s(5);
      varargin{k} = kry_mex ('get', x.h);
    else
      narrow = narrow || isa (x, 'single');
    end
  end
  z = f (varargin{:});
  if narrow, z = gpuMatrix (z, 'single'); else, z = gpuMatrix (z, 'double'); end
end
