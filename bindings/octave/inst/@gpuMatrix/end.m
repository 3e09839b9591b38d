function k = end (a, at, count)
  % a(end), a(i,end)   The last index
  s = kry_mex ('info', a.h);
  if count == 1
    k = s(1) * s(2);
  elseif at <= 2
    k = s(at);
  else
    k = 1;
  end
end

%!test
%! a = gpuMatrix (magic (4));
%! assert (gather (a(end)), 1);
%! assert (gather (a(end,1)), 4);
