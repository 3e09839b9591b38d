function dim = first_axis (s)
  % The axis along which sums go if nobody says: s begins with rows and columns
  dim = 1;
  if s(1) == 1, dim = 2; end
end
