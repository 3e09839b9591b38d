function z = vertcat (varargin)
  % [a; b]   Matrices put together
  %
  % On the device where all parts are dense and have numbers; else by the host. Queued: returns at once.
  %
  % Example:
  %   gather ([gpuMatrix([1 2]); 3 4])
  try
    z = joined (@(varargin) via_host ('vertcat', varargin{:}), 1, varargin{:});
  catch err
    warning ('kry:size', 'gpuMatrix: %s', err.message); % Octave itself says no more than "method failed"
    rethrow (err);
  end
end

%!test
%! A = rand (2, 3); B = rand (4, 3);
%! assert (gather ([gpuMatrix(A); B; A]), [A; B; A]);
%! assert (gather ([B; gpuMatrix(A)]), [B; A]);
%! assert (gather ([gpuMatrix(sparse (A)); B]), [sparse(A); B]);
%! assert (gather ([gpuMatrix(single (A)); B]), single ([A; B]));
%!warning <dimension mismatch> try, [gpuMatrix(ones (2, 3)); ones(3, 2)]; catch, end
