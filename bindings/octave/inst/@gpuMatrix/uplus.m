function z = uplus (a)
  % +a   The same
  z = a;
end

%!assert (gather (+gpuMatrix ([1 -2])), [1 -2])
