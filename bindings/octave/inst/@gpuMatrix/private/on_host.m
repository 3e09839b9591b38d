function varargout = on_host (f, varargin)
  % A function of the host, a name or a handle, of arguments that are gathered. Anonymous functions among them that
  % work with a gpuMatrix get numbers of the host, and what they hand back is gathered, too.
  for k = 1:numel (varargin), varargin{k} = to_host (varargin{k}); end
  if ischar (f), f = str2func (f); end
  [varargout{1:nargout}] = f (varargin{:});
end

function x = to_host (x)
  if isobject (x)
    if isa (x, 'gpuMatrix')
      x = kry_mex ('get', x.h);
    elseif isa (x, 'kryPrecond')
      M = x;
      x = @(r) host_of (M \ r);
    end
  elseif iscell (x)
    for k = 1:numel (x), x{k} = to_host (x{k}); end
  elseif isa (x, 'function_handle') && holds_objects (x)
    f = x;
    x = @(varargin) gathered (f, varargin{:});
  end
end

function yes = holds_objects (f)
  % May this function give a gpuMatrix of numbers of the host? Only if it brings one along
  yes = false;
  s = functions (f);
  if ~isfield (s, 'workspace') || isempty (s.workspace), return; end
  held = s.workspace;
  if iscell (held), held = held{1}; end
  yes = any (structfun (@(x) isobject (x) || iscell (x) || isa (x, 'function_handle'), held));
end

function varargout = gathered (f, varargin)
  [varargout{1:nargout}] = f (varargin{:});
  for k = 1:numel (varargout), varargout{k} = to_host (varargout{k}); end
end
