function a = subsasgn (a, s, b) %#ok
  % a(i,j) = b is not supported: a gpuMatrix is read only. gather it, change it, and make another.
  error ('kry:unsupported', ...
         'gpuMatrix: numbers cannot be assigned to: gather, change them, and make a gpuMatrix again');
end

%!error id=kry:unsupported
%! a = gpuMatrix ([1 2]);
%! a(1) = 3;
