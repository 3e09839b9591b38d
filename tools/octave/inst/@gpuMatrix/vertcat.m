function z = vertcat (varargin)
  % [a; b]   Matrices put together, by the host
  z = by_host (@vertcat, varargin{:});
end

%!test
%! assert (gather (vertcat (gpuMatrix ([1 2]), [3 4])), vertcat ([1 2], [3 4]));
