function z = sparse (a, varargin)
  % sparse (a), sparse (i, j, v, ...)   A sparse matrix, made by the host. sparse (a) keeps the precision of a
  if nargin > 1
    z = via_host ('sparse', a, varargin{:});
  elseif issparse (a)
    z = a;
  else
    z = gpuMatrix (sparse (double (a)), underlyingType (a));
  end
end

%!assert (gather (sparse (gpuMatrix ([1 0; 2 3]))), sparse ([1 0; 2 3]))
