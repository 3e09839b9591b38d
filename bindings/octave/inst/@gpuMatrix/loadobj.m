function a = loadobj (s)
  % Numbers that were saved, to the device in use
  %
  % MATLAB brings what saveobj made. Octave 7 writes the fields of the object in their place: what comes
  % of that is an object that says kry:handle when it is used, so that the rest of the file is loaded.
  if isstruct (s) && isfield (s, 'numbers') && isfloat (s.numbers)
    a = gpuMatrix (s.numbers, s.type);
  else
    a = gpuMatrix (uint64 (0), 'handle');
  end
end
