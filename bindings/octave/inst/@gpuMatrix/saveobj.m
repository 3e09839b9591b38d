function s = saveobj (a)
  % What is saved: the numbers, for handles do not outlive a session
  s.type = underlyingType (a);
  s.numbers = gather (a);
end
