function z = subsasgn (varargin)
  % a(i,j) = b, a(k) = b, a(k) = []   Numbers of a are replaced: of a copy, which is then a
  %
  % On the device where i, j and k are ':', ranges or masks inside a, and b fits. With other indices, for a matrix
  % that grows or shrinks, and for sparse ones, the host does it, and waits: in loops that is slow.
  %
  % Example:
  %   a = gpuMatrix (magic (4));
  %   a(2:3,1) = 0;
  %   a(end+1,:) = 1;
  [a, s, b] = varargin{:};
  if numel (s) > 1 || ~strcmp (s(1).type, '()')
    error ('kry:index', 'gpuMatrix: %s is no way to index a matrix that is assigned to', s(end).type);
  end
  if ~isobject (a) && isobject (b) && ~isa (b, 'gpuMatrix')
    error ('kry:type', 'gpuMatrix: an object of class %s cannot be assigned', class (b));
  end
  at = s(1).subs;
  for k = 1:numel (at), at{k} = an_index (at{k}); end
  drop = isequal (b, []) && isa (b, 'double');
  if exist ('OCTAVE_VERSION', 'builtin'), drop = isnull (varargin{3}); end % b itself is an ordinary matrix
  h = 0;
  if isobject (a) && ~drop && any (numel (at) == [1 2]) && (isobject (b) || is_plain (b))
    p = b;
    if isobject (b), p = b.h; end
    h = kry_mex ('assign', a.h, p, at{:});
  end
  if h ~= 0
    z = gpuMatrix (h, 'handle');
  else
    z = by_host (a, at, host_of (b), drop);
  end
end

function yes = is_plain (b)
  yes = isfloat (b) && isreal (b) && ndims (b) == 2;
end

function z = by_host (a, at, b, drop)
  x = host_of (a);
  if drop, x(at{:}) = []; else, x(at{:}) = b; end
  if isobject (a) && issparse (a), z = gpuMatrix (x, underlyingType (a)); else, z = gpuMatrix (x); end
end

%!test
%! % every kind of index, against the host
%! for type = {'double', 'single'}
%!   A = cast (magic (5), type{1});
%!   for at = {{2, 3}, {':', 2}, {3, ':'}, {2:4, [1 5]}, {7}, {':'}, {A > 12}, {[3 1 2], 2}, {[9 2]}, {5:-1:1, 1}, ...
%!             {logical([1 0 1 0 0]), ':'}, {[], 1}, {':', ':'}, {2, 3, 1}, {6, 7}, {int8(2), 1}}
%!     B = A; a = gpuMatrix (A);
%!     B(at{1}{:}) = 7; a(at{1}{:}) = 7;
%!     assert (gather (a), B);
%!     V = reshape (1:numel (B(at{1}{:})), size (B(at{1}{:})));
%!     B(at{1}{:}) = V; a(at{1}{:}) = gpuMatrix (V, type{1});
%!     assert (gather (a), B);
%!     a(at{1}{:}) = V;
%!     assert (gather (a), B);
%!   end
%! end
%!test
%! % growing and shrinking
%! a = gpuMatrix ([1 2 3]);
%! a(end+1) = 4; assert (gather (a), [1 2 3 4]);
%! a(2) = []; assert (gather (a), [1 3 4]);
%! b = gpuMatrix (magic (3)); b(:, 2) = []; assert (gather (b), magic (3)(:, [1 3]));
%! b(5, 5) = 1; assert (size (b), [5 5]);
%!test
%! % the copy of another name stays
%! a = gpuMatrix ([1 2; 3 4]); b = a;
%! a(1, :) = [8 9];
%! assert (gather (a), [8 9; 3 4]); assert (gather (b), [1 2; 3 4]);
%! a(a > 8) += 1; assert (gather (a), [8 10; 3 4]);
%!test
%! % sparse
%! a = gpuMatrix (sparse ([1 0; 0 2])); a(1, 2) = 5;
%! assert (gather (a), sparse ([1 5; 0 2]));
%!error <=: nonconformant|A\(I> a = gpuMatrix ([1 2 3]); a(1:2) = [1 2 3];
%!error id=kry:type a = gpuMatrix ([1 2]); a(1) = 1i;
%!error id=kry:index a = gpuMatrix ([1 2]); a{1} = 3;
