function display (a)
  % a   Show what it is, and its numbers. Waits for them.
  s = kry_mex ('info', a.h);
  words = {'', 'sparse '};
  fprintf ('%s = gpuMatrix %dx%d %s%s\n\n', inputname (1), s(1), s(2), words{1 + s(4)}, underlyingType (a));
  disp (gather (a));
  fprintf ('\n');
end

%!test
%! a = gpuMatrix ([1 2]);
%! text = evalc ('display (a)');
%! assert (~isempty (strfind (text, 'a = gpuMatrix 1x2 double')));
%! assert (~isempty (strfind (text, '1   2')));
