function A = matrix_of (M, A)
  % The matrix on the device that M's deflation was made from: it goes with no other. A is what is to be
  % solved with, and must be the same.
  same = isequal (class (A), class (M.source));
  if isobject (A) && same
    same = isequal (handle_of (A), handle_of (M.source));
  else
    same = isequal (numbers (A), numbers (M.source));
  end
  if ~same, error ('kry:argument', 'kry_pcg: the deflation was made for another matrix'); end
  A = M.matrix;
end

function A = numbers (A)
  if isobject (A), A = gather (A); end
end
