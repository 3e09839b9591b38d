function n = isreal (a) %#ok
  % isreal (a)   Always true: numbers are real
  n = true;
end

%!assert (isreal (gpuMatrix ([1 2])), true)
