function z = filled (name, varargin)
  % zeros (2, 3, 'like', a) and others of their kind
  like = find (cellfun (@(x) ischar (x) && strcmp (x, 'like'), varargin), 1);
  if isempty (like), z = on_host (name, varargin{:}); return; end
  if like + 1 ~= numel (varargin)
    error ('kry:argument', '%s: one matrix has to stand behind ''like'', and nothing behind that', name);
  end
  a = varargin{end};
  sizes = varargin(1:like-1);
  if ~isobject (a), z = on_host (name, sizes{:}, 'like', a); return; end
  type = underlyingType (a);
  z = gpuMatrix (on_host (name, sizes{:}), type);
  if issparse (a), z = sparse (z); end
end
