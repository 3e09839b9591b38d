function z = gpuMatrix (a, type)
  % gpuMatrix (a), gpuMatrix (a, 'single'), gpuMatrix (a, 'double')   A matrix on the device
  %
  % a is a real matrix of class double or single, dense or sparse; complex numbers, integers, logical
  % values, characters, cells and arrays of more than two dimensions are refused. The device is that of
  % kry_device, and opened when it is first needed.
  %
  % What is done with a gpuMatrix is put on the device's queue and returns at once; gather, double or
  % display wait for the numbers. Operators and functions work as those of matrices of the host. What has
  % no kernel on the device is computed by the host, and waits; the help of each function says which it is.
  % Comparisons give logical matrices of the host. Results that would be complex are errors.
  %
  % MATLAB saves a gpuMatrix with its numbers, and it goes to the device again when it is loaded. Octave
  % saves the name alone: gather before saving; a loaded one raises kry:handle.
  %
  % Example:
  %   A = gpuMatrix (rand (100));
  %   x = A \ ones (100, 1);
  %   norm (A * x - 1)
  %
  % See also: gather, kry_pcg, kry_precond, kry_device
  if nargin < 1, a = []; end
  if nargin < 2, type = ''; end
  if isa (a, 'gpuMatrix')
    z = a;
    if ~isempty (type), z = in_type (a, type); end
    return;
  end
  if strcmp (type, 'handle') % of kry_mex, which knows the numbers
    h = a;
  elseif any (strcmp (type, {'', 'single', 'double'}))
    h = kry_mex ('put', a, type);
  else
    error ('kry:type', 'gpuMatrix: the type must be single or double');
  end
  s.h = h;
  s.guard = onCleanup (@() kry_mex ('free', h)); % when the last copy goes
  z = class (s, 'gpuMatrix');
end

%!test
%! A = rand (7, 5);
%! a = gpuMatrix (A);
%! assert (class (a), 'gpuMatrix');
%! assert (gather (a), A);
%! assert (gather (gpuMatrix (single (A))), single (A));
%! assert (gather (gpuMatrix (A, 'single')), single (A));
%! assert (gather (gpuMatrix (gpuMatrix (single (A)), 'double')), double (single (A)));
%!test
%! % sparse
%! A = sprand (20, 30, 0.1);
%! a = gpuMatrix (A);
%! assert (gather (a), A);
%! assert (issparse (a)); assert (nnz (a), nnz (A));
%! assert (gather (gpuMatrix (A')), A');
%! assert (gather (gpuMatrix (A, 'single')), sparse (double (single (full (A)))));
%! assert (gather (gpuMatrix (sparse (3, 4))), sparse (3, 4));
%!test
%! % empty
%! for s = {[0 0], [0 3], [3 0]}
%!   a = gpuMatrix (zeros (s{1}));
%!   assert (size (a), s{1});
%!   assert (size (gather (a)), s{1});
%! end
%!test
%! % values go with the last copy
%! n = kry_mex ('live');
%! a = gpuMatrix (1); b = a; c = {a, b};
%! assert (kry_mex ('live'), n + 1);
%! clear a b
%! assert (kry_mex ('live'), n + 1);
%! clear c
%! assert (kry_mex ('live'), n);
%!test
%! % a saved one: Octave does not save its numbers, and says so when it is used
%! file = [tempname() '.mat'];
%! a = gpuMatrix ([1 2; 3 4]); other = 5;
%! unwind_protect
%!   warning ('off', 'all', 'local');
%!   save ('-text', file, 'a', 'other');
%!   clear a other
%!   load (file);
%!   assert (other, 5);
%!   assert (class (a), 'gpuMatrix');
%!   fail ('gather (a)', 'no longer on the device');
%! unwind_protect_cleanup
%!   delete (file);
%! end_unwind_protect
%!test
%! % the numbers stay where they are when everything is cleared
%! a = gpuMatrix ([1 2]);
%! clear kry_mex
%! assert (gather (a), [1 2]);
%!test
%! % loadobj of MATLAB
%! s = saveobj (gpuMatrix ([1 2], 'single'));
%! assert (s.numbers, single ([1 2])); assert (s.type, 'single');
%!error <complex numbers are not supported> gpuMatrix (1i)
%!error <class int8 are not supported> gpuMatrix (int8 (1))
%!error <class char are not supported> gpuMatrix ('a')
%!error <class logical are not supported> gpuMatrix (true)
%!error <class cell are not supported> gpuMatrix ({1})
%!error <more than two dimensions> gpuMatrix (ones (2, 2, 2))
%!error <entry \(2,1\) of the sparse matrix is not finite> gpuMatrix (sparse ([1 0; NaN 1]))
%!error id=kry:type gpuMatrix (1i)
%!error id=kry:size gpuMatrix (ones (2, 2, 2))
%!error id=kry:nan gpuMatrix (sparse (Inf))
%!error id=kry:type gpuMatrix (1, 'int8')
