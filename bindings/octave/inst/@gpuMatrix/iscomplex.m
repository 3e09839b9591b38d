function n = iscomplex (a) %#ok
  % iscomplex (a)   Always false: numbers are real
  n = false;
end

%!assert (iscomplex (gpuMatrix ([1 2])), false)
