function yes = isa (a, type)
  % isa (a, type)   Is a of this class? A gpuMatrix is 'gpuMatrix', 'float' and 'numeric'
  yes = strcmp (type, 'gpuMatrix') | strcmp (type, 'float') | strcmp (type, 'numeric');
end

%!assert (isa (gpuMatrix (1), 'float'))
%!assert (isa (gpuMatrix (1), {'gpuMatrix', 'double'}), [true false])
