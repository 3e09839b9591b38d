function k = subsindex (a)
  % x(a)   Where a stands in an index of a matrix of the host: its numbers, from 0 on
  k = gather (a) - 1;
end

%!test
%! x = [10 20 30];
%! assert (x(gpuMatrix ([3 1])), [30 10]);
%! x(gpuMatrix (2)) = 5;
%! assert (x, [10 5 30]);
