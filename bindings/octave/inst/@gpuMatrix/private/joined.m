function z = joined (f, dim, varargin)
  % Matrices side by side along axis dim: on the device if all are dense, have numbers, and fit; else by the host's
  % f, which says what is wrong
  varargin(cellfun (@(x) isa (x, 'double') && ~issparse (x) && isequal (size (x), [0 0]), varargin)) = []; % [x, a] with x = []
  h = 0;
  good = nargin <= 60 && isscalar (dim) && any (dim == [1 2]);
  parts = varargin;
  for k = 1:numel (parts)
    if isobject (parts{k}) && isa (parts{k}, 'gpuMatrix')
      parts{k} = parts{k}.h;
    else
      good = good && isfloat (parts{k}) && isreal (parts{k}) && ndims (parts{k}) == 2;
    end
  end
  if good, h = kry_mex ('cat', dim, parts{:}); end
  if h == 0, z = f (varargin{:}); else, z = gpuMatrix (h, 'handle'); end
end
