% each_function.m - the functions that come of a pattern (methods/functions), against those of the host.
x = [-2.5 -1 -0.5 0 0.5 1 2.5 NaN Inf];
outside = struct ('sqrt', -1, 'log', -1, 'log2', -1, 'log10', -1, 'log1p', -2, 'asin', 2, 'acos', 2, 'acosh', 0.5, ...
                  'atanh', 2);
bad = '';
for name = {'abs', 'exp', 'expm1', 'sqrt', 'log', 'log2', 'log10', 'log1p', 'sin', 'cos', 'tan', 'asin', 'acos', ...
            'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'floor', 'ceil', 'round', 'fix', 'sign', ...
            'cbrt', 'erf', 'erfc'}
  y = feval (name{1}, x);
  real_ones = imag (y) == 0;
  y = real (y(real_ones));
  for type = {'double', 'single'}
    z = feval (name{1}, gpuMatrix (x(real_ones), type{1}));
    good = isa (z, 'gpuMatrix') && strcmp (underlyingType (z), type{1});
    z = double (z);
    good = good && isequal (isnan (z), isnan (y)) && isequal (z(isinf (y)), y(isinf (y))) && ...
           all (abs (z - y)(isfinite (y)) <= 16 * eps (type{1}) * max (1, abs (y(isfinite (y)))));
    if ~good, bad = [bad ' ' name{1} ' ' type{1}]; end %#ok
  end
  if isfield (outside, name{1})
    try
      gather (feval (name{1}, gpuMatrix ([1 outside.(name{1}) 1])));
      bad = [bad ' ' name{1} ' outside']; %#ok
    catch err
      if ~strcmp (err.identifier, 'kry:type'), bad = [bad ' ' name{1} ': ' err.message]; end %#ok
    end
  end
end
tap (isempty (bad), 'functions of one number', bad);

% [what, arguments]: every matrix among the arguments becomes a gpuMatrix, one after the other, and all at once
A = [4 1 0; 1 3 -1; 0 -1 2]; B = [1 -2 3; 0 5 1; 2 2 2]; v = [3 1 2]; S = sparse (A);
calls = {'eq', A, B; 'ne', A, 1; 'lt', A, B; 'le', 1, A; 'gt', v, A; 'ge', A, A; 'and', A, B; 'or', A, 0; 'xor', A, B; ...
         'isequal', A, A; 'isequal', A, B; 'isequaln', [NaN 1], [NaN 1]; 'size_equal', A, B; 'size_equal', A, v; ...
         'max', A, B; 'min', v, A; 'atan2', A, B; 'hypot', A, B; 'mod', A, 3; 'rem', B, 2; 'cross', v, [1 0 2]; ...
         'kron', A, v; 'dot', v, [1 2 3]; 'polyder', v, v; 'polyval', v, 2; 'conv', v, v; 'cumsum', A, 2; ...
         'plus', A, B > 0; 'times', S, B; 'mtimes', A, v'; 'mtimes', true, A; 'mtimes', S, A > 0; 'ldivide', A, B; ...
         'power', abs(B), A; 'mldivide', A, v'; 'mrdivide', v, A; 'mpower', A, 3; 'mpower', 2, 3; 'mpower', 4, 0.5; ...
         'sort', B, 2; 'prod', A, 1; 'sum', A, 2; 'any', A, 1; 'all', A, 2; 'var', B, 0; 'std', B, 1; 'mean', B, 2; ...
         'triu', B, 1; 'tril', B, -1; 'reshape', B, [1 9]; 'repmat', v, [2 2]; 'horzcat', A, B; 'vertcat', A, v; ...
         'circshift', B, 1; 'diag', v, 1; 'accumarray', [1; 2; 1], [5; 6; 7]; 'colon', 2, 5; 'linspace', 1, 3; ...
         'histc', v, 1:3; 'lookup', 1:3, 2.5; 'ismember', v, 1; 'setdiff', v, 1; 'nchoosek', 5, 2; 'trapz', v, v; ...
         'eig', A, B; 'deconv', [2 4 2], [1 1]; 'interp1', [1 2 4], 1.5; 'mat2str', A, 3; 'norm', A, 1; 'norm', v, Inf; ...
         'svd', A, 0; 'qr', A, 0; 'bitand', 5, 3; 'gcd', 12, 18; 'legendre', 2, 0.5; 'meshgrid', v, 1:2; ...
         'sprintf', '%g ', v; 'num2str', A, 4; 'isrow', v, []; 'isempty', v, []; 'numel', v, []; 'cumprod', B, []; ...
         'isnan', [NaN 1], []; 'not', A, []; 'logical', A, []; 'int8', A, []; 'rank', A, []; 'trace', A, []; ...
         'num2cell', A, []; 'unique', v, []; 'median', B, []; 'fft', v, []; 'sqrtm', A, []; 'expm', A, []; ...
         'null', A, []; 'chol', A, []; 'issymmetric', A, []; 'find', B, []; 'nnz', B, []; 'det', A, []; 'inv', A, []; ...
         'transpose', B, []; 'uminus', B, []; 'squeeze', B, []; 'fliplr', B, []; 'gamma', abs(A), []; 'primes', 20, []; ...
         'isvector', v, []; 'isvector', 1, []; 'isvector', zeros(1, 0), []; 'isvector', [], []; 'isscalar', 1, []; ...
         'issquare', A, []; 'columns', B, []; 'length', zeros(0, 3), []; 'ndims', A, []; 'double', A, []; 'char', [65 66], []};
bad = '';
for k = 1:size (calls, 1)
  name = calls{k, 1}; args = calls(k, 2:3);
  if isempty (args{2}), args(2) = []; end
  wanted = feval (name, args{:});
  for places = [num2cell(1:numel (args)), {1:numel(args)}]
    given = args;
    for j = places{1}, if isfloat (given{j}), given{j} = gpuMatrix (given{j}); end, end
    try
      z = gather (feval (name, given{:}));
      good = isequal (size (z), size (wanted)) && strcmp (class (z), class (wanted));
      if good && isfloat (z)
        good = max ([0; abs(z(:) - wanted(:))]) <= 1e-12;
      else
        good = good && isequal (z, wanted);
      end
      if ~good, bad = sprintf ('%s %s (case %d)', bad, name, k); end
    catch err
      bad = sprintf ('%s %s (case %d): %s;', bad, name, k, err.message);
    end
  end
end
tap (isempty (bad), sprintf ('%d calls of functions and operators as the host''s', size (calls, 1)), bad);

% 'like', truth, [x, y] = gather, and what has to be one object
a = gpuMatrix (single ([1 2; 3 4]));
z = zeros (2, 3, 'like', a);
good = isa (z, 'gpuMatrix') && strcmp (underlyingType (z), 'single') && isequal (gather (z), zeros (2, 3, 'single'));
z = rand (3, 'like', a); n = ones ([1 2], 'like', gpuMatrix (1)); e = eye (2, 'like', sparse (gpuMatrix (1)));
good = good && isa (z, 'gpuMatrix') && all (gather (z)(:) < 1) && isequal (gather (n), [1 1]) && ...
       isequal (gather (e), speye (2)) && isequal (zeros (gpuMatrix (2), 1), [0; 0]);
tap (good, 'zeros, ones, rand, eye (..., ''like'', a)');
[x, y] = gather (a, [1 2]);
tap (isequal ({x, y}, {single([1 2; 3 4]), [1 2]}), '[x, y] = gather (a, b)');
count = 0; for k = 1:gpuMatrix (3), count = count + k; end
switch gpuMatrix (3), case 3, good = true; otherwise, good = false; end
text = evalc ('printf ("%d ", gpuMatrix ([1 2]))');
tap (good && count == 6 && strcmp (text, '1 2 '), 'for, switch, printf');

% solvers of Octave with matrices and functions on the device
A = gpuMatrix (A); b = gpuMatrix ([1; 2; 3]);
bad = '';
for name = {'gmres', 'bicg', 'bicgstab', 'cgs', 'qmr', 'tfqmr', 'pcr'}
  if strcmp (name{1}, 'pcr') || strcmp (name{1}, 'qmr') || strcmp (name{1}, 'bicg')
    forms = {A};
  else
    forms = {A, @(x) A * x};
  end
  for f = forms
    [x, flag] = feval (name{1}, f{1}, b);
    if flag ~= 0 || ~isa (x, 'gpuMatrix') || norm (A * x - b) > 1e-5, bad = [bad ' ' name{1}]; end %#ok
  end
end
tap (isempty (bad), 'gmres and others', bad);
