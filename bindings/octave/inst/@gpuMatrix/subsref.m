function varargout = subsref (a, s)
  % a(i,j), a(k), a(:,j)   Numbers of a, as a gpuMatrix
  %
  % i, j and k are ':', numbers from 1 on, ranges, or logical masks. Queued: returns at once.
  %
  % Example:
  %   a = gpuMatrix (magic (4));
  %   gather (a(2:3,end))
  if ~strcmp (s(1).type, '()')
    error ('kry:index', 'gpuMatrix: %s is no way to index a matrix', s(1).type);
  end
  at = s(1).subs;
  for k = 1:numel (at), at{k} = an_index (at{k}); end
  switch numel (at)
    case 0
      z = a;
    case 1
      h = 0;
      if ndims (at{1}) == 2, h = kry_mex ('index', a.h, at{1}); end
      if h == 0, z = via_host (@(x) x(at{1}), a); else, z = gpuMatrix (h, 'handle'); end
    otherwise
      for k = 3:numel (at)
        if ~isequal (at{k}, 1) && ~isequal (at{k}, ':')
          error ('kry:index', 'gpuMatrix: a matrix has two dimensions, and index %d is not 1', k);
        end
      end
      h = kry_mex ('index', a.h, at{1:2});
      if h == 0, z = via_host (@(x) x(at{1:2}), a); else, z = gpuMatrix (h, 'handle'); end
  end
  if numel (s) > 1, z = subsref (z, s(2:end)); end
  varargout = {z};
end

%!test
%! A = rand (6, 5); a = gpuMatrix (A);
%! assert (gather (a(2,3)), A(2,3));
%! assert (gather (a(:,2)), A(:,2));
%! assert (gather (a(3,:)), A(3,:));
%! assert (gather (a(2:4,[5 1 1])), A(2:4,[5 1 1]));
%! assert (gather (a(end:-2:1,end)), A(end:-2:1,end));
%! assert (gather (a(7)), A(7));
%! assert (gather (a(:)), A(:));
%! assert (gather (a([1 2; 30 4])), A([1 2; 30 4]));
%! assert (gather (a(A > 0.5)), A(A > 0.5));
%! assert (gather (a(logical ([1 0 1 0 0 1]),:)), A([1 3 6],:));
%! assert (gather (a(int32 (2),1)), A(2,1));
%! assert (gather (a(2,3,1)), A(2,3));
%! assert (gather (a([],:)), A([],:));
%! assert (gather (a([])), A([]));
%! assert (gather (a(:,:)(2,2)), A(2,2));
%!test
%! % vectors keep their direction
%! r = gpuMatrix (1:5); c = gpuMatrix ((1:5)');
%! assert (gather (r([1; 3])), [1 3]);
%! assert (gather (c([1 3])), [1; 3]);
%! assert (gather (r(logical ([1 0 1 0 0]))), [1 3]);
%! assert (gather (c(:)), (1:5)');
%! assert (gather (r(:)), (1:5)');
%!test
%! % masks and lists of every shape, as the host's
%! for A = {1:6, (1:6)', reshape(1:6, 2, 3), 5}
%!   for k = {true, false, logical([1 0]), logical([1; 0]), logical([1 0; 0 0]), logical([0 0; 0 0]), [], ...
%!            zeros(1, 0), zeros(0, 1), zeros(0, 3), 1, [1 1], [1; 1], [1 1; 1 1], ones(2, 2, 2), ':'}
%!     if iscell (k), k = k{1}; end
%!     B = A{1}(k); b = gpuMatrix (A{1})(k);
%!     assert (size (b), size (B)); assert (gather (b), B);
%!   end
%! end
%! b = gpuMatrix (1:6)(gpuMatrix ([2 3]));
%! assert (gather (b), [2 3]);
%! x = gpuMatrix ([-1 2 -3 4]);
%! assert (gather (x(x > 0)), [2 4]);
%!test
%! % sparse, by the host
%! A = sprand (6, 5, 0.4); a = gpuMatrix (A);
%! assert (gather (a(2:3,:)), A(2:3,:));
%! assert (gather (a(:,1)), A(:,1));
%!error id=kry:index gpuMatrix ([1 2])(3)
%!error <out of bound 2> gpuMatrix ([1 2])(3)
%!error <whole number> gpuMatrix ([1 2])(0)
%!error <whole number> gpuMatrix ([1 2])(1.5)
%!test
%! a = gpuMatrix ([1 2]);
%! try, a{1}, assert (false); catch e, assert (e.identifier, 'kry:index'); end
%! try, a.x, assert (false); catch e, assert (e.identifier, 'kry:index'); end
