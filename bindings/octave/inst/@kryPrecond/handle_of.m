function [h, deflation] = handle_of (M)
  % What kry_mex knows it by; [] where there is none
  h = M.h;
  deflation = M.deflation;
end
