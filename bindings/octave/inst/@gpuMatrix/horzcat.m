function z = horzcat (varargin)
  % [a, b]   Matrices put together
  %
  % On the device where all parts are dense and have numbers; else by the host. Queued: returns at once.
  %
  % Example:
  %   gather ([gpuMatrix([1 2]), 3])
  try
    z = joined (@(varargin) via_host ('horzcat', varargin{:}), 2, varargin{:});
  catch err
    warning ('kry:size', 'gpuMatrix: %s', err.message); % Octave itself says no more than "method failed"
    rethrow (err);
  end
end

%!test
%! A = rand (3, 2); B = rand (3, 4); S = sparse (round (A));
%! assert (gather ([gpuMatrix(A), B, A]), [A, B, A]);
%! assert (gather ([B, gpuMatrix(A)]), [B, A]);
%! assert (gather ([gpuMatrix(A), gpuMatrix([])]), A); assert (gather ([[], gpuMatrix(A), []]), A);
%! assert (gather ([zeros(1, 0), gpuMatrix(A)]), A);
%! assert (gather ([gpuMatrix(S), S]), [S, S]);
%! assert (gather ([gpuMatrix(A)]), A);
%! assert ([gpuMatrix(1), int8(2)], int8 ([1 2]));
%! c = [gpuMatrix(A), {1}];
%! assert (c, {A, 1});
%!warning <dimension mismatch> try, [gpuMatrix(ones (2, 3)), ones(3, 2)]; catch, end
