function f = factors_of (a)
  % LU factors of a dense matrix, in the background: a struct that keeps their handle
  h = kry_mex ('lu', a.h);
  f.h = h;
  f.guard = onCleanup (@() kry_mex ('free', h));
end
