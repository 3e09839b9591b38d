function disp (a)
  % disp (a)   Show the numbers. Waits for them.
  disp (gather (a));
end

%!test
%! assert (evalc ('disp (gpuMatrix ([1 2]))'), evalc ('disp ([1 2])'));
