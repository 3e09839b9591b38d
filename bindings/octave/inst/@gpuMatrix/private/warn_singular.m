function warn_singular (rc)
  if rc == 0
    warning ('kry:singular', 'gpuMatrix: matrix singular to machine precision');
  else
    warning ('kry:singular', 'gpuMatrix: matrix singular to machine precision, rcond = %g', rc);
  end
end
