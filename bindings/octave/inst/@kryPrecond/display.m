function display (M)
  % M   Show what kind of preconditioner it is
  fprintf ('%s = kryPrecond %s\n', inputname (1), M.label);
end

%!test
%! M = kry_precond (sparse ([4 0; 0 2]), 'jacobi', 'deflation', 'stripes:1');
%! assert (strtrim (evalc ('display (M)')), 'M = kryPrecond jacobi, deflation stripes:1 (2x2)');
