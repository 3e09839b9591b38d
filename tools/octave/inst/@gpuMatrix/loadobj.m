function a = loadobj (s)
  % Numbers that were saved, to the device of this session
  if ~isstruct (s) || ~isfield (s, 'numbers')
    error ('kry:handle', 'gpuMatrix: the file holds no numbers of this object: gather before saving');
  end
  a = gpuMatrix (s.numbers, s.type);
end
