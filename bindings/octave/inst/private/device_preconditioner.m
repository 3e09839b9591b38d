function [M, good, A] = device_preconditioner (A, M1, M2)
  % The preconditioner as kry_mex takes it: a struct of handles h and deflation, [] where there is none.
  % good is false if the device has no way to apply it; 'singular' if there is none to apply.
  M.h = []; M.deflation = []; M.keep = [];
  good = true;
  if isempty (M1) && isempty (M2), return; end
  if isa (M1, 'kryPrecond') && isempty (M2)
    [M.h, M.deflation] = handle_of (M1);
    M.keep = M1;
    if ~isempty (M.deflation), A = matrix_of (M1, A); end
    return;
  end
  if ~is_matrix (M1) || ~is_matrix (M2), good = false; return; end
  if isempty (M1), M1 = M2; M2 = []; end
  if ~isempty (M2) && ~(is_diagonal (M1) && is_diagonal (M2)), good = false; return; end
  if is_diagonal (M1)
    d = full (diag (host (M1)));
    if ~isempty (M2), d = d .* full (diag (host (M2))); end
    if numel (d) ~= size (A, 1), error ('kry:size', 'kry_pcg: M1 must have as many rows as A'); end
    if any (d == 0), M = 'singular'; return; end
    M.keep = kry_precond (gpuMatrix (diag (sparse (double (d))), type_of (A)), 'jacobi');
    M.h = handle_of (M.keep);
  elseif isa (M1, 'gpuMatrix') && ~issparse (M1)
    if size (M1, 1) ~= size (M1, 2) || size (M1, 1) ~= size (A, 1)
      error ('kry:size', 'kry_pcg: M1 must be square, with as many rows as A');
    end
    if rcond (M1) == 0, M = 'singular'; return; end
    M.h = kry_mex ('lu', handle_of (M1));
    h = M.h;
    M.keep = onCleanup (@() kry_mex ('free', h));
  else
    good = false;
  end
end

function yes = is_matrix (M)
  yes = isempty (M) || isa (M, 'gpuMatrix') || (isfloat (M) && isreal (M));
end

function yes = is_diagonal (M)
  yes = size (M, 1) == size (M, 2);
  if ~yes, return; end
  if isa (M, 'gpuMatrix')
    yes = issparse (M) && nnz (M) <= size (M, 1);
    if ~yes, return; end
    M = gather (M);
  end
  [i, j] = find (M);
  yes = all (i == j);
end

function M = host (M)
  if isobject (M), M = gather (M); end
end

function type = type_of (A)
  if isobject (A), type = underlyingType (A); else, type = class (A); end
end
