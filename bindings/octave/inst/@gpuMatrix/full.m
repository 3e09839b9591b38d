function z = full (a)
  % full (a)   The same as a dense matrix. Of sparse ones by the host
  if issparse (a), z = via_host ('full', a); else, z = a; end
end

%!assert (gather (full (gpuMatrix (sparse ([1 0; 2 3])))), [1 0; 2 3])
%!assert (~issparse (full (gpuMatrix (sparse (1)))))
%!assert (gather (full (gpuMatrix ([1 2]))), [1 2])
