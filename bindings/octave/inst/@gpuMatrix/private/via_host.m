function varargout = via_host (name, varargin)
  % A function of the host, whose real matrices go to the device. Octave's sparse matrices are double: those
  % that come of sparse ones in single become single again.
  narrow = any (cellfun (@is_sparse_single, varargin));
  [varargout{1:max(nargout, 1)}] = on_host (name, varargin{:});
  for k = 1:numel (varargout)
    x = varargout{k};
    if ~(isfloat (x) && isreal (x) && ndims (x) == 2), continue; end
    if issparse (x) && ~all (isfinite (nonzeros (x))), continue; end % not on the device
    if narrow && issparse (x), type = 'single'; else, type = ''; end
    varargout{k} = gpuMatrix (x, type);
  end
end

function yes = is_sparse_single (x)
  yes = false;
  if isobject (x) && isa (x, 'gpuMatrix')
    s = kry_mex ('info', x.h);
    yes = s(4) && s(5);
  end
end
