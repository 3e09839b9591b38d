function z = horzcat (varargin)
  % [a, b]   Matrices put together, by the host
  z = by_host (@horzcat, varargin{:});
end

%!test
%! assert (gather (horzcat (gpuMatrix ([1 2]), [3 4])), horzcat ([1 2], [3 4]));
